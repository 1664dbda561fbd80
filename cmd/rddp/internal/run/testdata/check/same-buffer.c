// same-buffer: all receives have the same memory
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 4; i++)
		MUST(!post_recv(&b, i, fault ? 0 : 64 * i, 64));
	for (int i = 0; i < 4; i++) {
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(&a);
		wait_wc(&b);
	}
	return done(&a, &b);
}
