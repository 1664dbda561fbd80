// conflict: an RDMA Write may overtake the RDMA Read in front of it
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 0, 64));
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED | (fault ? 0 : IBV_SEND_FENCE), 2, 4096, 64, b.buffer, b.mr->rkey));
	wait_wc(&a);
	wait_wc(&a);
	return done(&a, &b);
}
