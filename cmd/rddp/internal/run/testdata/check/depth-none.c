// depth: a Read is posted, and max_rd_atomic is 0
// posted: ibv_post_send(
// caller: post(&a, &b, IBV_WR_RDMA_READ
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.max_rd_atomic = 0;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 0, 64));
	struct ibv_wc w;
	MUST(try_wc(&a, &w, 20));
	return done(&a, &b);
}
