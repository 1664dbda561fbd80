// overlap: an RDMA Read brings data to a part of a receive that is posted
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&a, 1, 0, 512));
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 2, fault ? 256 : 512, 256));
	wait_wc(&a);
	return done(&a, &b);
}
