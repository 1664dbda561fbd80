// events: an asynchronous event about a shared receive queue is not acknowledged, and ibv_destroy_srq hangs
// at: ibv_destroy_srq(
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	struct ibv_srq *srq;
	struct ibv_srq_init_attr s = {.attr = {.max_wr = 4, .max_sge = 1}};
	MUST(srq = ibv_create_srq(pd, &s));
	MUST(!ibv_destroy_qp(b.qp));
	struct ibv_qp_init_attr q = {.send_cq = b.cq, .recv_cq = b.cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 4, .max_send_sge = 1}};
	MUST(b.qp = ibv_create_qp(pd, &q));
	join(&a, &b);
	for (int i = 0; i < 2; i++) {
		struct ibv_sge g = {(uintptr_t)b.buffer + 64 * i, 64, b.mr->lkey};
		struct ibv_recv_wr w = {.wr_id = i, .sg_list = &g, .num_sge = 1}, *bad;
		MUST(!ibv_post_srq_recv(srq, &w, &bad));
	}
	struct ibv_srq_attr limit = {.srq_limit = 2};
	MUST(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 7, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	struct ibv_async_event e;
	MUST(!ibv_get_async_event(ctx, &e));
	if (!fault)
		ibv_ack_async_event(&e);
	MUST(!ibv_destroy_qp(b.qp));
	MUST(!ibv_destroy_srq(srq));
	MUST(b.qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){.send_cq = b.cq, .recv_cq = b.cq, .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}}));
	return done(&a, &b);
}
