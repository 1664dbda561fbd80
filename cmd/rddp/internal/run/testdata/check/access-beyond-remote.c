// access: an RDMA Write goes to the element behind the last one of an array
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct slot { char bytes[96]; } *slots = (struct slot *)b.buffer;
	int n = BUFFER / sizeof *slots;
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, sizeof *slots, &slots[fault ? n : n - 1], b.mr->rkey));
	any_wc(&a);
	return done(&a, &b);
}
