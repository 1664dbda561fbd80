// leak: a memory region is left, and with it its protection domain
// registered: ibv_reg_mr(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_mr *m;
	MUST(m = ibv_reg_mr(pd, pages(4096), 4096, IBV_ACCESS_LOCAL_WRITE));
	if (fault)
		return 0;
	MUST(!ibv_dereg_mr(m));
	close_device();
	return 0;
}
