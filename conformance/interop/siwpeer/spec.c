// The peer of `rddp spec`: the contract of conformance/SPEC.md. It serves connections one after another, until the
// process is killed; each gets regions, buffers and queues of its own.
#include "siwpeer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RECEIVES = 16, SIZE = 4096, REGIONS = 3,
	MEMORY = 1 << 0, INVALIDATE = 1 << 3, READ_ONLY = 1 << 4, WRITE_ONLY = 1 << 5,
	SETUP_MS = 3000, // longest wait for one step of setting up a connection
};

static struct rdma_event_channel *channel;

// One connection.
struct echo {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *buffers, *regions[REGIONS];
	uint8_t *memory; // RECEIVES buffers, then one more for the first Send, then the regions
	bool over;
};

// A request that came while another connection was served waits here.
static struct rdma_cm_id *waiting[64];
static size_t nwaiting;

static uint8_t *put32(uint8_t *p, uint32_t v) { v = htobe32(v); return (uint8_t *)memcpy(p, &v, 4) + 4; }
static uint8_t *put64(uint8_t *p, uint64_t v) { v = htobe64(v); return (uint8_t *)memcpy(p, &v, 8) + 8; }

static uint8_t *put_region(uint8_t *p, const struct ibv_mr *mr)
{
	return put32(put64(put32(p, mr->rkey), (uintptr_t)mr->addr), SIZE);
}

// record writes the record that the Private Data begin with, and returns its length.
static uint8_t record(uint8_t *p, const struct echo *e)
{
	uint8_t *end = (uint8_t *)memcpy(p, "rdSP", 4) + 4;
	end = put32(end, MEMORY | INVALIDATE | READ_ONLY | WRITE_ONLY);
	end = put32(put_region(end, e->regions[0]), SIZE);
	return put_region(put_region(end, e->regions[1]), e->regions[2]) - p;
}

static int post_receive(struct echo *e, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)e->memory + i * SIZE, SIZE, e->buffers->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;
	return ibv_post_recv(e->id->qp, &wr, &bad);
}

static int post_send(struct echo *e, uint64_t i, uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)e->memory + i * SIZE, n, e->buffers->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = n > 0, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	return ibv_post_send(e->id->qp, &wr, &bad);
}

static bool set_up(struct echo *e)
{
	static const int access[REGIONS] = {
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	const size_t own = (RECEIVES + 1) * SIZE;
	if (!e->id->verbs || posix_memalign((void **)&e->memory, SIZE, own + REGIONS * SIZE))
		return false;
	memset(e->memory, 0, own + REGIONS * SIZE);
	e->pd = ibv_alloc_pd(e->id->verbs);
	e->cq = ibv_create_cq(e->id->verbs, 4 * RECEIVES, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = RECEIVES + 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	if (!e->pd || !e->cq || rdma_create_qp(e->id, e->pd, &attr))
		return false;
	e->buffers = ibv_reg_mr(e->pd, e->memory, own, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < REGIONS; i++)
		if (!(e->regions[i] = ibv_reg_mr(e->pd, e->memory + own + i * SIZE, SIZE, access[i])))
			return false;
	for (int i = 0; i < RECEIVES; i++)
		if (!e->buffers || post_receive(e, i))
			return false;
	return true;
}

static void take_down(struct echo *e)
{
	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
	for (int i = 0; i < REGIONS; i++)
		if (e->regions[i])
			ibv_dereg_mr(e->regions[i]);
	if (e->buffers)
		ibv_dereg_mr(e->buffers);
	if (e->cq)
		ibv_destroy_cq(e->cq);
	if (e->pd)
		ibv_dealloc_pd(e->pd);
	if (e->id)
		rdma_destroy_id(e->id);
	free(e->memory);
}

// event takes the next event, waiting at most ms. It returns its type, or -1 where there is none about e.
static int event(struct echo *e, int ms)
{
	struct pollfd fd = { channel->fd, POLLIN, 0 };
	struct rdma_cm_event *ev;
	int type = -1;
	if (poll(&fd, 1, ms) <= 0 || rdma_get_cm_event(channel, &ev))
		return -1;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (nwaiting < sizeof waiting / sizeof *waiting)
			waiting[nwaiting++] = ev->id;
	} else if (e && ev->id == e->id) {
		type = ev->event;
	}
	rdma_ack_cm_event(ev);
	return type;
}

// reach waits until an event of this type has come. Every other one about e is a failure.
static bool reach(struct echo *e, int type)
{
	for (int64_t end = now_ms() + SETUP_MS; now_ms() < end;) {
		int got = event(e, 10);
		if (got != -1)
			return got == type;
	}
	return false;
}

// completed deals with one completion; false: the connection is over.
static bool completed(struct echo *e, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		return false;
	if (wc->opcode & IBV_WC_RECV)
		return !post_send(e, wc->wr_id, wc->byte_len);
	return wc->wr_id >= RECEIVES || !post_receive(e, wc->wr_id);
}

// run sends messages back until the connection is over.
static void run(struct echo *e)
{
	struct ibv_wc wc;
	bool answers = true;
	while (!e->over) {
		int n = ibv_poll_cq(e->cq, 1, &wc);
		if (n == 1 && answers)
			answers = completed(e, &wc);
		int type = event(e, n == 1 ? 0 : 1);
		e->over = type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_DEVICE_REMOVAL;
		if (!answers && type == -1 && n != 1) {
			// A receive has failed, and siw may keep the connection: it is ended here.
			rdma_disconnect(e->id);
			e->over = true;
		}
	}
}

static void accept_one(struct rdma_cm_id *id)
{
	struct echo e = { .id = id };
	uint8_t pd[128];
	struct rdma_conn_param p = { .private_data = pd, .responder_resources = 16, .initiator_depth = 16 };
	if (set_up(&e)) {
		p.private_data_len = record(pd, &e);
		if (!rdma_accept(id, &p) && reach(&e, RDMA_CM_EVENT_ESTABLISHED))
			run(&e);
	}
	take_down(&e);
}

static void connect_one(struct sockaddr_in *sa)
{
	struct echo e = { .id = NULL };
	uint8_t pd[128];
	struct rdma_conn_param p = { .private_data = pd, .responder_resources = 16, .initiator_depth = 16 };
	if (rdma_create_id(channel, &e.id, NULL, RDMA_PS_TCP)) {
		usleep(100000);
		return;
	}
	bool up = !rdma_resolve_addr(e.id, NULL, (struct sockaddr *)sa, SETUP_MS) && reach(&e, RDMA_CM_EVENT_ADDR_RESOLVED) &&
		  !rdma_resolve_route(e.id, SETUP_MS) && reach(&e, RDMA_CM_EVENT_ROUTE_RESOLVED) && set_up(&e);
	if (up) {
		p.private_data_len = record(pd, &e);
		memcpy(e.memory + RECEIVES * SIZE, "hello", 5);
		if (!rdma_connect(e.id, &p) && reach(&e, RDMA_CM_EVENT_ESTABLISHED) && !post_send(&e, RECEIVES, 5))
			run(&e);
		else
			usleep(20000); // not to dial without a pause where nobody listens
	}
	take_down(&e);
}

// spec port=N listens; with addr= it dials that address again and again.
bool cmd_spec(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(number("port", 0)) };
	bool dials = arg("addr", NULL);
	struct rdma_cm_id *listener;
	channel = rdma_create_event_channel();
	if (!channel || inet_pton(AF_INET, arg("addr", "0.0.0.0"), &sa.sin_addr) != 1)
		return fail("no event channel, or addr is not an IPv4 address");
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	while (dials)
		connect_one(&sa);
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, (struct sockaddr *)&sa) ||
	    rdma_listen(listener, 16))
		return failed_call("rdma_listen", errno);
	for (;;) {
		while (!nwaiting)
			event(NULL, 1000);
		struct rdma_cm_id *id = waiting[0];
		memmove(waiting, waiting + 1, --nwaiting * sizeof *waiting);
		accept_one(id);
	}
}
