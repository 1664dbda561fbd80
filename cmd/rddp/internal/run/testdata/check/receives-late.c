// receives: the message comes long before its receive
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.rnr_retry = 7;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	if (!fault)
		MUST(!post_recv(&b, 1, 0, 64));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 1, 0, 64));
	nap(500);
	if (fault)
		MUST(!post_recv(&b, 1, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
