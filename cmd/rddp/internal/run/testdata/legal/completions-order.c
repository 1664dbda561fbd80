// completions: those of two queue pairs are taken to come in the order in which the work was posted
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 100; i++) {
		MUST(!post_recv(&b, i, 0, 64));
		MUST(!post_recv(&a, i, 64, 64));
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(&b); // the message is there, and the Send of it is not complete
		MUST(!post_send(&b, IBV_SEND_SIGNALED, i, 0, 64));
		bool sent = false, received = false;
		while (!sent || !received) {
			struct ibv_wc w = wait_wc(&a);
			if (fault)
				MUST(w.opcode == (sent ? IBV_WC_RECV : IBV_WC_SEND));
			*(w.opcode & IBV_WC_RECV ? &received : &sent) = true;
		}
		wait_wc(&b);
	}
	return done(&a, &b);
}
