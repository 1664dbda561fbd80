// access: the receive is shorter than the message
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, fault ? 64 : 128));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 2, 0, 128));
	any_wc(&a);
	any_wc(&b);
	return done(&a, &b);
}
