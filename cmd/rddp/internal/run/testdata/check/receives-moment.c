// receives: a receive is posted some milliseconds late, which a long min_rnr_timer makes worse on a card
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.min_rnr_timer = 20; // 10 ms
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 1);
	if (!fault)
		MUST(!post_recv(&b, 1, 0, 64));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 1, 0, 64));
	nap(5);
	if (fault)
		MUST(!post_recv(&b, 1, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
