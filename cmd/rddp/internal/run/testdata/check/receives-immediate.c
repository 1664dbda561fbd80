// receives: an RDMA Write with immediate data finds no receive
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct ibv_recv_wr w = {.wr_id = 1}, *bad;
	if (!fault)
		MUST(!ibv_post_recv(b.qp, &w, &bad));
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, 2, 0, 64));
	any_wc(&a);
	return done(&a, &b);
}
