// conflict: an RDMA Write goes to the buffer of a receive that is posted
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	memset(a.buffer, 7, 1024);
	MUST(!post_recv(&b, 1, 0, 256));
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 2, 0, 64, b.buffer + (fault ? 128 : 256), b.mr->rkey));
	wait_wc(&a);
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 3, 0, 256));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
