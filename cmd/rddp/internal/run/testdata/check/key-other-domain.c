// key: an SGE has the lkey of a memory region of another protection domain
// posted: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	uint32_t lkey = a.mr->lkey, rkey = b.mr->rkey;
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	MUST(other);
	struct ibv_mr *m = ibv_reg_mr(fault ? other : pd, a.buffer, BUFFER, with.access);
	MUST(m);
	lkey = m->lkey;
	struct ibv_sge s = {(uintptr_t)a.buffer, 64, lkey};
	struct ibv_send_wr w = {
		.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {(uintptr_t)b.buffer, rkey},
	}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	struct ibv_wc c;
	MUST(try_wc(&a, &c, 20));
	MUST(fault || !c.status);
	MUST(!ibv_dereg_mr(m));
	MUST(!ibv_dealloc_pd(other));
	return done(&a, &b);
}
