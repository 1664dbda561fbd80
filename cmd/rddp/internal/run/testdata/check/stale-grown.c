// stale: a registered buffer moves because it grows, as realloc lets it, and another one gets its old place
// registered: ibv_reg_mr(
#define _GNU_SOURCE
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	size_t n = 1 << 20;
	char *first = pages(2 * n), *p; // the second half is in the way
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, first, n, with.access));
	if (!fault)
		MUST(!ibv_dereg_mr(m));
	p = mremap(first, n, 4 * n, MREMAP_MAYMOVE);
	MUST(p != MAP_FAILED && p != first);
	MUST(mmap(first, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == first);
	memset(first, 1, n);
	if (!fault)
		MUST(m = ibv_reg_mr(pd, first, n, with.access));
	MUST(!post_recv(&b, 1, 0, 64));
	struct ibv_sge s = {(uintptr_t)first, 64, m->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	wait_wc(&a);
	wait_wc(&b);
	MUST(!ibv_dereg_mr(m));
	munmap(first, 2 * n);
	munmap(p, 4 * n);
	return done(&a, &b);
}
