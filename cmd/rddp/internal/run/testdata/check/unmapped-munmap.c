// unmapped: the buffer is unmapped before its memory region is deregistered
// at: munmap(
// registered: ibv_reg_mr(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	char *p = pages(8192);
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, p, 8192, IBV_ACCESS_LOCAL_WRITE));
	if (fault)
		munmap(p, 8192);
	MUST(!ibv_dereg_mr(m));
	if (!fault)
		munmap(p, 8192);
	close_device();
	return 0;
}
