// depth: more RDMA Reads under way than the peer takes
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.max_rd_atomic = fault ? 16 : 1;
	with.max_dest_rd_atomic = 1;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 1);
	for (int i = 0; i < 8; i++)
		MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, i, 1024 * i, 1024));
	for (int i = 0; i < 8; i++)
		any_wc(&a);
	return done(&a, &b);
}
