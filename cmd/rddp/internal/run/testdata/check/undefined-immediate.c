// undefined: immediate data is passed on, of a message that has none
// at: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 2, 0, 64));
	wait_wc(&a);
	struct ibv_wc w = wait_wc(&b);
	MUST(!post_recv(&a, 3, 64, 64));
	struct ibv_send_wr s = {.wr_id = 4, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	if (fault || w.wc_flags & IBV_WC_WITH_IMM) {
		s.opcode = IBV_WR_SEND_WITH_IMM;
		s.imm_data = w.imm_data;
	}
	MUST(!ibv_post_send(b.qp, &s, &bad));
	wait_wc(&b);
	wait_wc(&a);
	return done(&a, &b);
}
