// leak: a completion channel is left
// created: ibv_create_comp_channel(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_comp_channel *c;
	MUST(c = ibv_create_comp_channel(ctx));
	if (!fault)
		MUST(!ibv_destroy_comp_channel(c));
	close_device();
	return 0;
}
