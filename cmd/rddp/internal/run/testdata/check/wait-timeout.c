// wait: timeout 0 means for ever
// at: IBV_QP_TIMEOUT
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.timeout = 0;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
