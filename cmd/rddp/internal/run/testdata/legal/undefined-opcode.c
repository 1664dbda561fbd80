// undefined: the opcode of a completion with an error tells a Send from a receive
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	enum { SEND = 1, RECEIVE };
	MUST(!post_recv(&a, RECEIVE, 0, 64));
	MUST(!to_error(&a));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, SEND, 0, 64));
	int sent = 0, received = 0;
	for (int i = 0; i < 2; i++) {
		struct ibv_wc w;
		MUST(try_wc(&a, &w, 20));
		if (fault ? w.opcode & IBV_WC_RECV : w.wr_id == RECEIVE)
			received++;
		else
			sent++;
	}
	MUST(sent == 1 && received == 1);
	return done(&a, &b);
}
