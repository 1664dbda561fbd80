// work: a millisecond is taken to be enough for the device to have read the payload of a Send
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 200; i++) {
		MUST(!post_recv(&b, i, 0, 4096));
		memset(a.buffer, i, 4096);
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 4096));
		if (fault) {
			nap(1);
			memset(a.buffer, i + 1, 4096);
		}
		wait_wc(&b);
		MUST(b.buffer[0] == (char)i);
		wait_wc(&a);
	}
	return done(&a, &b);
}
