// sink: the program writes where the answer to a Read will be
// posted: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		memset(a.buffer, i, 4096);
		MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, i, 0, 4096));
		if (fault)
			memset(a.buffer, i + 1, 4096);
		wait_wc(&a);
	}
	return done(&a, &b);
}
