// reuse: the buffer of an unsignaled RDMA Write is filled again before a later one has completed
// posted: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		memset(a.buffer, i, 4096);
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, 0, i, 0, 4096));
		if (fault)
			memset(a.buffer, i + 1, 4096);
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, 8192, 64));
		wait_wc(&a);
	}
	return done(&a, &b);
}
