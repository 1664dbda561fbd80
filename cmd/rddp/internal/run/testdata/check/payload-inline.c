// payload: the buffer is used again as if the data were inline
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.inline_data = 64;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 4; i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	for (int i = 0; i < 4; i++) {
		memset(a.buffer, 'a' + i, 32);
		MUST(!post_send(&a, IBV_SEND_SIGNALED | (fault ? 0 : IBV_SEND_INLINE), i, 0, 32));
	}
	for (int i = 0; i < 4; i++) {
		wait_wc(&a);
		wait_wc(&b);
	}
	return done(&a, &b);
}
