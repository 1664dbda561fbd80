// receives: one receive is missing, and the message fails
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 3; i++) {
		if (!fault || i < 2)
			MUST(!post_recv(&b, i, 0, 64));
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		struct ibv_wc w;
		MUST(try_wc(&a, &w, 20));
		if (w.status)
			break;
		wait_wc(&b);
	}
	return done(&a, &b);
}
