// conflict: a peer writes without waiting for the message of a third party, which is to say that another peer has written
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct end c = make_end(), d = make_end();
	join(&c, &d);
	exchange(&a, &b, 1);
	exchange(&c, &d, 1);
	MUST(!post_recv(&b, 1, 4096, 64));
	MUST(!post_recv(&c, 2, 4096, 64));
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, 0, 3, 0, 256, b.buffer, b.mr->rkey));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 4, 4096, 64)); // "I am done"
	nap(20);
	if (fault)
		MUST(!post_rdma(&c, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 5, 0, 256, b.buffer, b.mr->rkey));
	wait_wc(&b);
	MUST(!post_send(&d, IBV_SEND_SIGNALED, 6, 8192, 64)); // "go"
	wait_wc(&c);
	if (!fault)
		MUST(!post_rdma(&c, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 5, 0, 256, b.buffer, b.mr->rkey));
	wait_wc(&c);
	wait_wc(&d);
	wait_wc(&a);
	destroy_end(&c);
	destroy_end(&d);
	return done(&a, &b);
}
