// completion-queue: messages come and nobody polls
// created: ibv_create_cq(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.cqe = 4;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	int n = fault ? 6 : 4;
	for (int i = 0; i < n; i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	for (int i = 0; i < n; i++) {
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(&a);
	}
	nap(20);
	for (int i = 0; i < n; i++)
		wait_wc(&b);
	return done(&a, &b);
}
