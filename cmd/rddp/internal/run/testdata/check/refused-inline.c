// refused: more inline data is posted than max_inline_data, which many devices round up
// at: post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.inline_data = 64;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, 256));
	if (fault)
		MUST(post_send(&a, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 1, 0, 100));
	MUST(!post_send(&a, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 1, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
