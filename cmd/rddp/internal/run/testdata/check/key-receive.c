// key: the rkey is used for a receive
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct ibv_sge s = {(uintptr_t)b.buffer, 64, fault ? b.mr->rkey : b.mr->lkey};
	struct ibv_recv_wr w = {.sg_list = &s, .num_sge = 1}, *bad;
	MUST(!ibv_post_recv(b.qp, &w, &bad));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 2, 0, 64));
	any_wc(&a);
	any_wc(&b);
	return done(&a, &b);
}
