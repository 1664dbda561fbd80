// sizes: max_rd_atomic is more than max_dest_rd_atomic of the peer
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.max_dest_rd_atomic = fault ? 1 : 4;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 4; i++)
		MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, i, 4096 * i, 4096));
	for (int i = 0; i < 4; i++)
		wait_wc(&a);
	return done(&a, &b);
}
