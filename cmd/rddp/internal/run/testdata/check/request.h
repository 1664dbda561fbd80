// What the programs have in common that ask for a connection of rdma_cm and reject it.
#include <rdma/rdma_cma.h>
#include "check.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *asking;

// event waits for an event, acknowledges it, and returns its id.
static struct rdma_cm_id *event(enum rdma_cm_event_type want) {
	struct rdma_cm_event *e;
	MUST(!rdma_get_cm_event(channel, &e) && e->event == want);
	struct rdma_cm_id *id = e->id;
	MUST(!rdma_ack_cm_event(e));
	return id;
}

// prepare makes a listener, and an id that may ask it.
static void prepare(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	MUST(channel = rdma_create_event_channel());
	MUST(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	MUST(!rdma_bind_addr(listener, (struct sockaddr *)&to) && !rdma_listen(listener, 1));
	to.sin_port = rdma_get_src_port(listener);
	MUST(!rdma_create_id(channel, &asking, NULL, RDMA_PS_TCP));
	MUST(!rdma_resolve_addr(asking, NULL, (struct sockaddr *)&to, 2000));
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(!rdma_resolve_route(asking, 2000));
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	MUST(!rdma_create_qp(asking, NULL, &a));
}

// reject rejects the request that has come, and returns its id.
static struct rdma_cm_id *reject(void) {
	struct rdma_cm_id *id = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST(!rdma_reject(id, NULL, 0));
	event(RDMA_CM_EVENT_REJECTED);
	return id;
}

static int over(void) {
	rdma_destroy_qp(asking);
	MUST(!rdma_destroy_id(asking) && !rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
	return 0;
}
