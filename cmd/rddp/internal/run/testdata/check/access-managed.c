// access: a program reads by rdma_cm over loopback what may only be written
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include "check.h"

static char lent[64], got[64];
static struct rdma_cm_id *listener;

struct place {
	uint64_t addr;
	uint32_t rkey;
};

// options are those of both ids.
static struct ibv_qp_init_attr options(void) {
	return (struct ibv_qp_init_attr){.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
}

static struct rdma_addrinfo *find(const char *port, int flags) {
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = flags}, *found;
	MUST(!rdma_getaddrinfo("127.0.0.1", port, &hints, &found));
	return found;
}

static void *lend(void *unused) {
	struct rdma_cm_id *id;
	MUST(!rdma_get_request(listener, &id));
	struct ibv_mr *mr = fault ? rdma_reg_write(id, lent, sizeof lent) : rdma_reg_read(id, lent, sizeof lent);
	MUST(mr);
	struct place p = {(uintptr_t)lent, mr->rkey};
	struct rdma_conn_param param = {.private_data = &p, .private_data_len = sizeof p, .responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 6, .retry_count = 6};
	MUST(!rdma_accept(id, &param));
	struct rdma_cm_event *e;
	MUST(!rdma_get_cm_event(id->channel, &e)); // the peer has disconnected
	rdma_ack_cm_event(e);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return unused;
}

int main(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	struct ibv_qp_init_attr attr = options();
	struct rdma_addrinfo *here = find("0", RAI_PASSIVE | RAI_NUMERICHOST);
	MUST(!rdma_create_ep(&listener, here, NULL, &attr) && !rdma_listen(listener, 1));
	char port[8];
	snprintf(port, sizeof port, "%d", ntohs(rdma_get_src_port(listener)));
	pthread_t lender;
	MUST(!pthread_create(&lender, NULL, lend, NULL));

	struct rdma_addrinfo *there = find(port, RAI_NUMERICHOST);
	struct rdma_cm_id *id;
	attr = options();
	MUST(!rdma_create_ep(&id, there, NULL, &attr));
	struct ibv_mr *mr = rdma_reg_msgs(id, got, sizeof got);
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 6, .retry_count = 6};
	MUST(mr && !rdma_connect(id, &param));
	struct place p;
	memcpy(&p, id->event->param.conn.private_data, sizeof p);
	MUST(!rdma_post_read(id, NULL, got, sizeof got, mr, 0, p.addr, p.rkey));
	struct ibv_wc wc;
	MUST(rdma_get_send_comp(id, &wc) == 1);
	rdma_disconnect(id);
	pthread_join(lender, NULL);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(here);
	rdma_freeaddrinfo(there);
	return 0;
}
