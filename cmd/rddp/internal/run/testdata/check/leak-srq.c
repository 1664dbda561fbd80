// leak: a shared receive queue is left
// created: ibv_create_srq(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_srq *s;
	struct ibv_srq_init_attr a = {.attr = {.max_wr = 16, .max_sge = 1}};
	MUST(s = ibv_create_srq(pd, &a));
	if (fault)
		exit(0);
	MUST(!ibv_destroy_srq(s));
	close_device();
	return 0;
}
