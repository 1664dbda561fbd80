// leak: a queue pair is left, and with it what it uses
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 3);
	destroy_end(&a);
	if (fault)
		return 0;
	destroy_end(&b);
	close_device();
	return 0;
}
