// key: an SGE has the rkey, and needs the lkey
// posted: ibv_post_send(
// registered: ibv_reg_mr(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	uint32_t lkey = a.mr->lkey, rkey = b.mr->rkey;
	if (fault)
		lkey = a.mr->rkey;
	struct ibv_sge s = {(uintptr_t)a.buffer, 64, lkey};
	struct ibv_send_wr w = {
		.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {(uintptr_t)b.buffer, rkey},
	}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	struct ibv_wc c;
	MUST(try_wc(&a, &c, 20));
	MUST(fault || !c.status);
	return done(&a, &b);
}
