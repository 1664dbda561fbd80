// wait: min_rnr_timer 0 means 655 ms
// at: IBV_QP_MIN_RNR_TIMER
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.min_rnr_timer = 0;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
