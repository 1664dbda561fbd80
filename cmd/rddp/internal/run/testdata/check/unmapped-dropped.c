// unmapped: the pages of a registered buffer are dropped by madvise
// at: madvise(
// registered: ibv_reg_mr(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	char *p = pages(8192);
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, p, 4096, with.access));
	madvise(fault ? p : p + 4096, 4096, MADV_DONTNEED);
	MUST(!ibv_dereg_mr(m));
	munmap(p, 8192);
	close_device();
	return 0;
}
