// leak: the protection domain is left
// created: ibv_alloc_pd(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (!fault)
		MUST(!ibv_dealloc_pd(pd));
	MUST(!ibv_close_device(ctx));
	return 0;
}
