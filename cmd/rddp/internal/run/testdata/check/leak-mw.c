// leak: a memory window is left
// created: ibv_alloc_mw(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_mw *w;
	MUST(w = ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	if (fault)
		exit(0);
	MUST(!ibv_dealloc_mw(w));
	close_device();
	return 0;
}
