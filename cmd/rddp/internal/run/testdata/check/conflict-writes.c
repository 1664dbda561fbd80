// conflict: two peers write the same bytes
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct end c = make_end(), d = make_end();
	join(&c, &d);
	exchange(&a, &b, 1);
	exchange(&c, &d, 1);
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64, b.buffer, b.mr->rkey));
	if (!fault)
		wait_wc(&a);
	MUST(!post_rdma(&c, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 2, 0, 64, b.buffer + 32, b.mr->rkey));
	wait_wc(&c);
	if (fault)
		wait_wc(&a);
	destroy_end(&c);
	destroy_end(&d);
	return done(&a, &b);
}
