// leak: the device is opened only to ask for its port, and not closed
// created: ibv_open_device(
#include "check.h"

static int mtu(void) {
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c;
	struct ibv_port_attr a;
	MUST(list && (c = ibv_open_device(list[0])) && !ibv_query_port(c, 1, &a));
	ibv_free_device_list(list);
	if (!fault)
		MUST(!ibv_close_device(c));
	return a.active_mtu;
}

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.path_mtu = mtu();
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
