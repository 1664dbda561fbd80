// sink: a Send has what a Read in front of it brings, without a fence
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	memset(b.buffer, 5, 256);
	MUST(!post_recv(&b, 1, 4096, 256));
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, 0, 2, 0, 256));
	MUST(!post_send(&a, IBV_SEND_SIGNALED | (fault ? 0 : IBV_SEND_FENCE), 3, 0, 256));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
