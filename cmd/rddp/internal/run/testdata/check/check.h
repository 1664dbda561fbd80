// What the programs of this folder have in common: two RC queue pairs of one process, which are joined with each other. Each program
// makes one mistake if its argument is "fault", and none if it is "twin". Its first line says what rddp run --check must find.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static bool fault; // make the mistake

#define MUST(x) do { if (!(x)) { perror(#x); exit(1); } } while (0)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static union ibv_gid gid;

enum { BUFFER = 65536 };

// An end is a queue pair and what it uses.
struct end {
	struct ibv_comp_channel *channel; // NULL without one
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char *buffer;
	struct ibv_mr *mr;
};

// How ends are made and joined.
static struct {
	int send_wr, recv_wr, cqe, sge, inline_data;
	bool all_signaled, channel;
	int timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic, max_dest_rd_atomic, access, rq_psn, sq_psn;
	enum ibv_mtu path_mtu;
} with = {
	.send_wr = 16, .recv_wr = 16, .cqe = 64, .sge = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 6, .min_rnr_timer = 12, .max_rd_atomic = 4,
	.max_dest_rd_atomic = 4, .path_mtu = IBV_MTU_1024, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

static inline double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void nap(int ms) { usleep(ms * 1000); }

static inline void open_device(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	struct ibv_device **list = ibv_get_device_list(NULL);
	MUST(list && list[0]);
	MUST(ctx = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	MUST(!ibv_query_gid(ctx, 1, 0, &gid));
	MUST(pd = ibv_alloc_pd(ctx));
}

static inline char *pages(size_t n) {
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	memset(p, 0, n);
	return p;
}

static inline struct end make_end(void) {
	struct end e = {0};
	if (with.channel)
		MUST(e.channel = ibv_create_comp_channel(ctx));
	MUST(e.cq = ibv_create_cq(ctx, with.cqe, NULL, e.channel, 0));
	struct ibv_qp_init_attr a = {
		.send_cq = e.cq, .recv_cq = e.cq, .qp_type = IBV_QPT_RC, .sq_sig_all = with.all_signaled,
		.cap = {.max_send_wr = with.send_wr, .max_recv_wr = with.recv_wr, .max_send_sge = with.sge, .max_recv_sge = with.sge, .max_inline_data = with.inline_data},
	};
	MUST(e.qp = ibv_create_qp(pd, &a));
	e.buffer = pages(BUFFER);
	MUST(e.mr = ibv_reg_mr(pd, e.buffer, BUFFER, with.access));
	return e;
}

static inline int to_init(struct end *e) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = with.access};
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static inline int to_rtr(struct end *e, struct end *peer) {
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = with.path_mtu, .rq_psn = with.rq_psn, .dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = with.max_dest_rd_atomic,
		.min_rnr_timer = with.min_rnr_timer, .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}},
	};
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static inline int to_rts(struct end *e) {
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = with.timeout, .retry_cnt = with.retry_cnt, .rnr_retry = with.rnr_retry, .sq_psn = with.sq_psn, .max_rd_atomic = with.max_rd_atomic,
	};
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static inline int to_error(struct end *e) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE);
}

static inline void join(struct end *a, struct end *b) {
	MUST(!to_init(a) && !to_init(b));
	MUST(!to_rtr(a, b) && !to_rtr(b, a));
	MUST(!to_rts(a) && !to_rts(b));
}

static inline int post_recv(struct end *e, uint64_t id, int at, int n) {
	struct ibv_sge s = {(uintptr_t)e->buffer + at, n, e->mr->lkey};
	struct ibv_recv_wr w = {.wr_id = id, .sg_list = &s, .num_sge = 1}, *bad;
	return ibv_post_recv(e->qp, &w, &bad);
}

// post posts a work request of n bytes at offset at of the buffer. An RDMA Write or Read concerns the same offset of the peer's buffer.
static inline int post(struct end *e, struct end *peer, enum ibv_wr_opcode op, unsigned flags, uint64_t id, int at, int n) {
	struct ibv_sge s = {(uintptr_t)e->buffer + at, n, e->mr->lkey};
	struct ibv_send_wr w = {.wr_id = id, .sg_list = &s, .num_sge = 1, .opcode = op, .send_flags = flags}, *bad;
	if (op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_READ || op == IBV_WR_RDMA_WRITE_WITH_IMM) {
		w.wr.rdma.remote_addr = (uintptr_t)peer->buffer + at;
		w.wr.rdma.rkey = peer->mr->rkey;
	}
	return ibv_post_send(e->qp, &w, &bad);
}

// post_rdma is post of an RDMA Write or Read with n bytes at offset at of the buffer, and any memory of the peer.
static inline int post_rdma(struct end *e, enum ibv_wr_opcode op, unsigned flags, uint64_t id, int at, int n, const void *remote, uint32_t rkey) {
	struct ibv_sge s = {(uintptr_t)e->buffer + at, n, e->mr->lkey};
	struct ibv_send_wr w = {.wr_id = id, .sg_list = &s, .num_sge = 1, .opcode = op, .send_flags = flags, .wr.rdma = {(uintptr_t)remote, rkey}}, *bad;
	return ibv_post_send(e->qp, &w, &bad);
}

// post_add is post of an atomic addition of 1, whose answer goes to offset at of the buffer.
static inline int post_add(struct end *e, uint64_t id, int at, const void *remote, uint32_t rkey) {
	struct ibv_sge s = {(uintptr_t)e->buffer + at, 8, e->mr->lkey};
	struct ibv_send_wr w = {.wr_id = id, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED}, *bad;
	w.wr.atomic.remote_addr = (uintptr_t)remote;
	w.wr.atomic.rkey = rkey;
	w.wr.atomic.compare_add = 1;
	return ibv_post_send(e->qp, &w, &bad);
}

static inline int post_send(struct end *e, unsigned flags, uint64_t id, int at, int n) { return post(e, NULL, IBV_WR_SEND, flags, id, at, n); }

// try_wc waits for a completion, for at most so many seconds.
static inline bool try_wc(struct end *e, struct ibv_wc *w, double seconds) {
	for (double end = now() + seconds; now() < end; usleep(50)) {
		int n = ibv_poll_cq(e->cq, 1, w);
		MUST(n >= 0);
		if (n)
			return true;
	}
	return false;
}

// wait_wc waits for a completion with success.
static inline struct ibv_wc wait_wc(struct end *e) {
	struct ibv_wc w;
	MUST(try_wc(e, &w, 20));
	if (w.status) {
		fprintf(stderr, "work request %lu: %s\n", (unsigned long)w.wr_id, ibv_wc_status_str(w.status));
		exit(1);
	}
	return w;
}

// any_wc waits for a completion with any status.
static inline struct ibv_wc any_wc(struct end *e) {
	struct ibv_wc w;
	MUST(try_wc(e, &w, 20));
	return w;
}

// exchange sends n messages from a to b, as is right.
static inline void exchange(struct end *a, struct end *b, int n) {
	for (int i = 0; i < n; i++) {
		MUST(!post_recv(b, i, 0, 64));
		MUST(!post_send(a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(a);
		wait_wc(b);
	}
}

static inline void destroy_end(struct end *e) {
	MUST(!ibv_destroy_qp(e->qp));
	MUST(!ibv_dereg_mr(e->mr));
	munmap(e->buffer, BUFFER);
	MUST(!ibv_destroy_cq(e->cq));
	if (e->channel)
		MUST(!ibv_destroy_comp_channel(e->channel));
}

static inline void close_device(void) {
	MUST(!ibv_dealloc_pd(pd));
	MUST(!ibv_close_device(ctx));
}

static inline int done(struct end *a, struct end *b) {
	destroy_end(a);
	destroy_end(b);
	close_device();
	return 0;
}
