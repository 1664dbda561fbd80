// payload: the second part of a message changes
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.sge = 2;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct ibv_sge s[2] = {{(uintptr_t)a.buffer, 16, a.mr->lkey}, {(uintptr_t)a.buffer + 4096, 200, a.mr->lkey}};
	struct ibv_send_wr w = {.sg_list = s, .num_sge = 2, .opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED}, *bad;
	MUST(!post_recv(&b, 1, 0, 512));
	MUST(!ibv_post_send(a.qp, &w, &bad));
	if (fault)
		a.buffer[4096 + 199] ^= 1;
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
