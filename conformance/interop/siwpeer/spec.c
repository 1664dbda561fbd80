// The peer of `rddp spec`: the contract of conformance/SPEC.md. It serves connections until the process is killed; each
// gets regions, buffers and queues of its own. siw does not tell the end of every connection, so several are served at a
// time, and one on which nothing happens is ended.
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
	CONNECTIONS = 32, // at a time
	SETUP_MS = 3000,  // longest wait for one step of dialling
	IDLE_MS = 8000,   // after which a connection is ended; longer than a case takes
	GRACE_MS = 500,   // for siw's own end of a connection with a failed request, its Terminate included
};

static struct rdma_event_channel *channel;

// One connection.
struct echo {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *buffers, *regions[REGIONS];
	uint8_t *memory; // RECEIVES buffers, then one more for the first Send, then the regions
	int64_t active;  // when something happened
	bool established, failed, over;
};

static struct echo live[CONNECTIONS];

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

static struct echo *of(const struct rdma_cm_id *id)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (live[i].id == id)
			return &live[i];
	return NULL;
}

// oldest makes room, if there is none, where nothing has happened for the longest time.
static struct echo *oldest(void)
{
	struct echo *e = of(NULL);
	for (int i = 0; !of(NULL) && i < CONNECTIONS; i++)
		if (!e || live[i].active < e->active)
			e = &live[i];
	if (e->id)
		take_down(e);
	*e = (struct echo){ .active = now_ms() };
	return e;
}

static void accept_one(struct rdma_cm_id *id)
{
	struct echo *e = oldest();
	uint8_t pd[128];
	struct rdma_conn_param p = { .private_data = pd, .responder_resources = 16, .initiator_depth = 16 };
	e->id = id;
	e->over = !set_up(e);
	if (!e->over) {
		p.private_data_len = record(pd, e);
		e->over = rdma_accept(id, &p);
	}
}

// event deals with the next event, waiting at most ms. It returns its type, or -1 where there is none.
static int event(int ms)
{
	struct pollfd fd = { channel->fd, POLLIN, 0 };
	struct rdma_cm_event *ev;
	if (poll(&fd, 1, ms) <= 0 || rdma_get_cm_event(channel, &ev))
		return -1;
	int type = ev->event;
	struct rdma_cm_id *id = ev->id;
	rdma_ack_cm_event(ev); // before anything is destroyed: that waits for it
	struct echo *e = of(id);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept_one(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (e)
			e->established = true;
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		break;
	default: // an end, of one kind or other
		if (e)
			e->over = true;
	}
	return type;
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

// work sends messages back, and ends what is over. It reports whether there was anything to do.
static bool work(void)
{
	bool busy = false;
	for (int i = 0; i < CONNECTIONS; i++) {
		struct echo *e = &live[i];
		struct ibv_wc wc;
		if (!e->id)
			continue;
		while (!e->over && e->cq && ibv_poll_cq(e->cq, 1, &wc) == 1) {
			busy = true;
			if (e->failed)
				continue; // flushed
			e->active = now_ms();
			e->failed = !completed(e, &wc);
		}
		if (e->over || now_ms() - e->active > (e->failed ? GRACE_MS : IDLE_MS)) {
			if (e->established)
				rdma_disconnect(e->id);
			take_down(e);
			*e = (struct echo){ .id = NULL };
		}
	}
	return busy;
}

// reach waits until an event of this type has come.
static bool reach(struct echo *e, int type)
{
	for (int64_t end = now_ms() + SETUP_MS; !e->over && now_ms() < end;)
		if (event(10) == type)
			return true;
	return false;
}

static void connect_one(struct sockaddr_in *sa)
{
	struct echo *e = oldest();
	uint8_t pd[128];
	struct rdma_conn_param p = { .private_data = pd, .responder_resources = 16, .initiator_depth = 16 };
	if (rdma_create_id(channel, &e->id, NULL, RDMA_PS_TCP)) {
		e->id = NULL;
		usleep(100000);
		return;
	}
	e->over = rdma_resolve_addr(e->id, NULL, (struct sockaddr *)sa, SETUP_MS) || !reach(e, RDMA_CM_EVENT_ADDR_RESOLVED) ||
		  rdma_resolve_route(e->id, SETUP_MS) || !reach(e, RDMA_CM_EVENT_ROUTE_RESOLVED) || !set_up(e);
	if (!e->over) {
		p.private_data_len = record(pd, e);
		memcpy(e->memory + RECEIVES * SIZE, "hello", 5);
		e->over = rdma_connect(e->id, &p);
	}
	for (bool said = false; e->id;) {
		if (e->established && !said) {
			said = true;
			e->over = e->over || post_send(e, RECEIVES, 5);
		}
		if (!work())
			event(1);
	}
	usleep(10000); // not to dial without a pause where nobody listens
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
	for (;;)
		if (!work())
			event(1);
}
