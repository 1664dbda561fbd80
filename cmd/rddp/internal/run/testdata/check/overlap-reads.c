// overlap: two Reads under way share a part of the memory for their answers
// at: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		MUST(!post(&a, &b, IBV_WR_RDMA_READ, 0, 1, 0, 4096));
		MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 2, fault ? 2048 : 4096, 4096));
		wait_wc(&a);
	}
	return done(&a, &b);
}
