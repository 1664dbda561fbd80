// conflict: the peer reads what an RDMA Read brings
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 1);
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 0, 1024));
	if (!fault)
		wait_wc(&a);
	MUST(!post_rdma(&b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 2, 4096, 1024, a.buffer, a.mr->rkey));
	if (fault)
		wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
