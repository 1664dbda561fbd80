// payload: the buffer of a Send is filled again before its completion
// posted: ibv_post_send(
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		MUST(!post_recv(&b, i, 0, 4096));
		memset(a.buffer, i, 4096);
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 4096));
		if (fault)
			memset(a.buffer, i + 1, 4096);
		wait_wc(&a);
		wait_wc(&b);
	}
	return done(&a, &b);
}
