// leak: a completion queue is left
// created: ibv_create_cq(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_cq *q;
	MUST(q = ibv_create_cq(ctx, 16, NULL, NULL, 0));
	if (!fault)
		MUST(!ibv_destroy_cq(q));
	close_device();
	return 0;
}
