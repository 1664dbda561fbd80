// depth: no common card has lists of 32
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.sge = 32;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
