// send-queue: no work request is signaled, so the queue of a card stays full
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.send_wr = 8;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 20; i++) {
		bool signaled = !fault && i % 4 == 3;
		if (post(&a, &b, IBV_WR_RDMA_WRITE, signaled ? IBV_SEND_SIGNALED : 0, i, 0, 64)) {
			MUST(fault); // there is no room
			break;
		}
		if (signaled)
			wait_wc(&a);
		nap(1);
	}
	return done(&a, &b);
}
