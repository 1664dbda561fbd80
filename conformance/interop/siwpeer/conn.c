// The connection manager's side: listening, connecting, events.
#include "siwpeer.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection conn;

// The latest event of the connection manager, kept for the command that waits for it.
static struct {
	bool fresh;
	enum rdma_cm_event_type type;
	int status;
} latest;

static void nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Names in lower case and without the library's prefix: RDMA_CM_EVENT_ESTABLISHED is "established".
static const char *event_name(enum rdma_cm_event_type type)
{
	static char name[64];
	snprintf(name, sizeof name, "%s", rdma_event_str(type) + strlen("RDMA_CM_EVENT_"));
	for (char *p = name; *p; p++)
		*p = tolower(*p);
	return name;
}

static const char *async_name(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR: return "cq_err";
	case IBV_EVENT_QP_FATAL: return "qp_fatal";
	case IBV_EVENT_QP_REQ_ERR: return "qp_req_err";
	case IBV_EVENT_QP_ACCESS_ERR: return "qp_access_err";
	case IBV_EVENT_COMM_EST: return "comm_est";
	case IBV_EVENT_SQ_DRAINED: return "sq_drained";
	case IBV_EVENT_QP_LAST_WQE_REACHED: return "qp_last_wqe_reached";
	default: return "other";
	}
}

static void cm_event(void)
{
	struct rdma_cm_event *ev;
	if (rdma_get_cm_event(conn.channel, &ev))
		return;
	const struct rdma_conn_param *p = &ev->param.conn;
	printf("event name=%s status=%d", event_name(ev->event), ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (!conn.id)
			conn.id = ev->id;
		// fallthrough
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		// responder_resources is the depth of Reads that the peer asks this side to answer.
		printf(" ird=%u ord=%u", p->responder_resources, p->initiator_depth);
		// fallthrough
	case RDMA_CM_EVENT_REJECTED:
		printf(" pdlen=%u", p->private_data_len);
		print_hex("pd", p->private_data, p->private_data ? p->private_data_len : 0);
		break;
	default:
		break;
	}
	printf("\n");
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		conn.disconnected = true;
	latest.fresh = true;
	latest.type = ev->event;
	latest.status = ev->status;
	rdma_ack_cm_event(ev);
}

void pump(int ms)
{
	struct pollfd fds[2] = { { .fd = -1 }, { .fd = -1 } };
	if (conn.channel)
		fds[0] = (struct pollfd){ conn.channel->fd, POLLIN, 0 };
	if (conn.pd)
		fds[1] = (struct pollfd){ conn.id->verbs->async_fd, POLLIN, 0 };
	while (poll(fds, 2, ms) > 0) {
		ms = 0;
		if (fds[0].revents) {
			cm_event();
			return; // one at a time: the command may be waiting for this one
		}
		struct ibv_async_event ev;
		if (!fds[1].revents || ibv_get_async_event(conn.id->verbs, &ev))
			return;
		line("async name=%s", async_name(ev.event_type));
		ibv_ack_async_event(&ev);
	}
}

// next_event waits for one event of the connection manager: its type, or -1 after ms.
static int next_event(int64_t ms)
{
	int64_t end = now_ms() + ms;
	latest.fresh = false;
	do
		pump(10);
	while (!latest.fresh && now_ms() < end);
	return latest.fresh ? (int)latest.type : -1;
}

static bool open_channel(void)
{
	if (conn.channel)
		return true;
	conn.channel = rdma_create_event_channel();
	if (!conn.channel)
		return failed_call("rdma_create_event_channel", errno);
	nonblocking(conn.channel->fd);
	return true;
}

// create_qp makes the queues as soon as it is known which device the connection uses.
static bool create_qp(void)
{
	struct ibv_context *verbs = conn.id->verbs;
	int sq = number("sq", 64), rq = number("rq", 64);
	if (!verbs)
		return fail("no RDMA device has this address");
	nonblocking(verbs->async_fd);
	conn.pd = ibv_alloc_pd(verbs);
	for (int q = SQ; q <= RQ; q++) {
		conn.wake[q] = ibv_create_comp_channel(verbs);
		if (!conn.wake[q])
			return failed_call("ibv_create_comp_channel", errno);
		nonblocking(conn.wake[q]->fd);
		conn.cq[q] = ibv_create_cq(verbs, (q == SQ ? sq : rq) + 1, NULL, conn.wake[q], 0);
		if (!conn.cq[q])
			return failed_call("ibv_create_cq", errno);
	}
	struct ibv_qp_init_attr attr = {
		.send_cq = conn.cq[SQ], .recv_cq = conn.cq[RQ], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = sq, .max_recv_wr = rq, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	if (!conn.pd || rdma_create_qp(conn.id, conn.pd, &attr))
		return failed_call("rdma_create_qp", errno);
	return true;
}

static bool address(struct sockaddr_in *sa, const char *fallback)
{
	*sa = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(number("port", 0)) };
	return inet_pton(AF_INET, arg("addr", fallback), &sa->sin_addr) == 1 || fail("addr is not an IPv4 address");
}

// params fills in pd= (private data in hex), ird= and ord=.
static struct rdma_conn_param params(void)
{
	static uint8_t pd[256];
	return (struct rdma_conn_param){
		.private_data = pd, .private_data_len = octets("pd", pd, 255),
		.responder_resources = number("ird", 4), .initiator_depth = number("ord", 4),
	};
}

bool cmd_listen(void)
{
	struct sockaddr_in sa;
	if (!address(&sa, "0.0.0.0") || !open_channel())
		return false;
	if (rdma_create_id(conn.channel, &conn.listener, NULL, RDMA_PS_TCP))
		return failed_call("rdma_create_id", errno);
	if (rdma_bind_addr(conn.listener, (struct sockaddr *)&sa))
		return failed_call("rdma_bind_addr", errno);
	if (rdma_listen(conn.listener, number("backlog", 8)))
		return failed_call("rdma_listen", errno);
	return ok("port=%u", ntohs(rdma_get_src_port(conn.listener)));
}

bool cmd_request(void)
{
	if (!conn.listener)
		return fail("not listening");
	int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS);
	while (!conn.id && now_ms() < end)
		pump(10);
	if (!conn.id)
		return fail("timeout");
	return create_qp() && done();
}

// settled waits until the attempt to connect has come to an end.
static bool settled(void)
{
	int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS);
	for (int type; (type = next_event(end - now_ms())) != -1;) {
		if (type == RDMA_CM_EVENT_ESTABLISHED)
			return done();
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST) // of another connection
			return fail("event=%s status=%d", event_name(type), latest.status);
	}
	return fail("timeout");
}

bool cmd_accept(void)
{
	struct rdma_conn_param p = params();
	if (!conn.pd)
		return fail("no request");
	if (rdma_accept(conn.id, &p))
		return failed_call("rdma_accept", errno);
	return settled();
}

bool cmd_reject(void)
{
	struct rdma_conn_param p = params();
	if (!conn.pd)
		return fail("no request");
	if (rdma_reject(conn.id, p.private_data, p.private_data_len))
		return failed_call("rdma_reject", errno);
	return done();
}

bool cmd_resolve(void)
{
	struct sockaddr_in sa;
	if (!address(&sa, "") || !open_channel())
		return false;
	if (rdma_create_id(conn.channel, &conn.id, NULL, RDMA_PS_TCP))
		return failed_call("rdma_create_id", errno);
	if (rdma_resolve_addr(conn.id, NULL, (struct sockaddr *)&sa, RESOLVE_MS))
		return failed_call("rdma_resolve_addr", errno);
	if (next_event(PATIENCE_MS) != RDMA_CM_EVENT_ADDR_RESOLVED)
		return fail("address not resolved");
	if (rdma_resolve_route(conn.id, RESOLVE_MS))
		return failed_call("rdma_resolve_route", errno);
	if (next_event(PATIENCE_MS) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return fail("route not resolved");
	return create_qp() && done();
}

bool cmd_connect(void)
{
	struct rdma_conn_param p = params();
	if (!conn.pd)
		return fail("not resolved");
	if (rdma_connect(conn.id, &p))
		return failed_call("rdma_connect", errno);
	return settled();
}

bool cmd_event(void)
{
	const char *want = arg("name", NULL);
	int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS);
	if (want && !strcmp(want, "disconnected") && conn.disconnected)
		return ok("name=disconnected");
	for (int type; (type = next_event(end - now_ms())) != -1;)
		if (!want || !strcmp(want, event_name(type)))
			return ok("name=%s", event_name(type));
	return fail("timeout");
}

bool cmd_disconnect(void)
{
	if (!conn.id)
		return fail("no connection");
	if (rdma_disconnect(conn.id))
		return failed_call("rdma_disconnect", errno);
	return done();
}

bool cmd_close(void)
{
	if (!conn.id)
		return fail("no connection");
	struct connection old = conn;
	conn = (struct connection){ .channel = old.channel, .listener = old.listener };
	if (old.id->qp)
		rdma_destroy_qp(old.id);
	for (int q = SQ; q <= RQ; q++) {
		if (old.cq[q])
			ibv_destroy_cq(old.cq[q]);
		if (old.wake[q])
			ibv_destroy_comp_channel(old.wake[q]);
	}
	// The protection domain goes with the process: regions may still be registered in it.
	if (rdma_destroy_id(old.id))
		return failed_call("rdma_destroy_id", errno);
	return done();
}
