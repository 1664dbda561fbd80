// leak: an address handle is left
// created: ibv_create_ah(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_ah *h;
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}};
	MUST(h = ibv_create_ah(pd, &a));
	if (fault)
		exit(0);
	MUST(!ibv_destroy_ah(h));
	close_device();
	return 0;
}
