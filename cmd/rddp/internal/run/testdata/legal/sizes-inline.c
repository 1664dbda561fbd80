// sizes: a Send is inline, and no room for inline data was asked for
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.inline_data = fault ? 0 : 64;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!post_send(&a, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 1, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
