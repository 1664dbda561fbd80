// overlap: two receives share a part of their memory
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!post_recv(&b, 2, fault ? 32 : 64, 64));
	for (int i = 0; i < 2; i++) {
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(&a);
		wait_wc(&b);
	}
	return done(&a, &b);
}
