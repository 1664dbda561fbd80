// send-queue: what ibv_post_send returns is not looked at, and most of the work requests are not posted
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	int posted = 0, polled = 0;
	struct ibv_wc w;
	for (int i = 0; i < 60; i++) {
		if (!fault && posted - polled == with.send_wr) {
			wait_wc(&a);
			polled++;
		}
		if (!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, i * 64, 64))
			posted++;
	}
	for (; polled < posted; polled++)
		wait_wc(&a);
	MUST(!try_wc(&a, &w, 0.01));
	return done(&a, &b);
}
