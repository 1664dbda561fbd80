// keys: the lkey is sent to the peer, which needs the rkey
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	if (fault)
		b.mr->rkey = b.mr->lkey;
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	wait_wc(&a);
	return done(&a, &b);
}
