// access: an RDMA Read brings data to a memory region without IBV_ACCESS_LOCAL_WRITE
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	char *p = pages(4096);
	struct ibv_mr *m = ibv_reg_mr(pd, p, 4096, fault ? 0 : IBV_ACCESS_LOCAL_WRITE);
	MUST(m);
	struct ibv_sge s = {(uintptr_t)p, 64, m->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {(uintptr_t)b.buffer, b.mr->rkey}}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	any_wc(&a);
	MUST(!ibv_dereg_mr(m));
	return done(&a, &b);
}
