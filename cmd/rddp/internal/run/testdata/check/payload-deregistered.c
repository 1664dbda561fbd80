// payload: a memory region is deregistered before the completion of a Send from it
// posted: MUST(!ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 1);
	char *p = pages(8192);
	struct ibv_mr *mr = ibv_reg_mr(pd, p, 8192, 0);
	MUST(mr);
	struct ibv_sge s = {(uintptr_t)p, 8192, mr->lkey};
	struct ibv_send_wr w = {.wr_id = 2, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	if (fault)
		MUST(!ibv_dereg_mr(mr));
	MUST(!post_recv(&b, 1, 0, 8192));
	any_wc(&a);
	if (!fault)
		MUST(!ibv_dereg_mr(mr));
	munmap(p, 8192);
	return done(&a, &b);
}
