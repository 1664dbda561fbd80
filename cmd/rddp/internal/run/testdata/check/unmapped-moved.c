// unmapped: realloc moves a registered buffer
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	size_t n = 1 << 20;
	char *p = malloc(n), *fence = pages(64 << 20); // which is probably in the way
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, p, n, with.access));
	if (!fault)
		MUST(!ibv_dereg_mr(m));
	p = realloc(p, 256 << 20);
	if (!fault)
		MUST(m = ibv_reg_mr(pd, p, n, with.access));
	nap(1);
	MUST(!ibv_dereg_mr(m));
	free(p);
	munmap(fence, 64 << 20);
	close_device();
	return 0;
}
