// send-queue: more work requests are outstanding than max_send_wr
// at: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.send_wr = 10;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	int left = 0;
	for (int i = 0; i < 14; i++, left++) {
		if (!fault && left == 10) {
			wait_wc(&a);
			left--;
		}
		if (post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, 0, 64)) {
			MUST(fault); // there is no room
			break;
		}
	}
	for (; left; left--)
		wait_wc(&a);
	return done(&a, &b);
}
