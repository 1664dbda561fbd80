// reuse: no work request is ever signaled, so nothing tells when their memory is free
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 8; i++) {
		MUST(!post_recv(&b, i, i * 64, 64));
		MUST(!post_send(&a, fault || i < 7 ? 0 : IBV_SEND_SIGNALED, i, i * 64, 64));
		wait_wc(&b);
	}
	if (!fault)
		wait_wc(&a);
	return done(&a, &b);
}
