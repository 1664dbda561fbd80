// state: the program goes on to post after a completion with an error
// at: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 1);
	MUST(!to_error(&a));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 1, 0, 64)); // to learn that the queue is drained
	struct ibv_wc w;
	MUST(try_wc(&a, &w, 20) && w.status);
	for (int i = 0; i < (fault ? 5 : 0); i++) {
		post_send(&a, IBV_SEND_SIGNALED, i, 0, 64);
		MUST(try_wc(&a, &w, 20));
	}
	return done(&a, &b);
}
