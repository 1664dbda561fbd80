// rnr: a receive is posted a moment after its message has come, and rnr_retry is 0
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.rnr_retry = fault ? 0 : 6;
	with.min_rnr_timer = 24; // 41 ms
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 5; i++) {
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		nap(5);
		MUST(!post_recv(&b, i, 0, 64));
		wait_wc(&a);
		wait_wc(&b);
	}
	return done(&a, &b);
}
