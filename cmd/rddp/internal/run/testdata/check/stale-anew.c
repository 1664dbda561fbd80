// stale: a buffer that is unmapped and mapped again is at the same address, and still registered as the old one
// registered: ibv_reg_mr(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	size_t n = 1 << 20;
	char *p = pages(n), *first = p;
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, p, n, with.access));
	if (!fault)
		MUST(!ibv_dereg_mr(m));
	munmap(p, n);
	p = mmap(first, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p == first);
	memset(p, 1, n);
	if (!fault)
		MUST(m = ibv_reg_mr(pd, p, n, with.access));
	MUST(!post_recv(&b, 1, 0, 64));
	struct ibv_sge s = {(uintptr_t)p, 64, m->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	wait_wc(&a);
	wait_wc(&b);
	MUST(!ibv_dereg_mr(m));
	munmap(p, n);
	return done(&a, &b);
}
