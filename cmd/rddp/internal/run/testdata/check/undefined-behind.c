// undefined: an echo of the whole buffer instead of byte_len bytes
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	memset(a.buffer, 'q', 1024);
	MUST(!post_recv(&b, 1, 0, 1024));
	MUST(!post_recv(&a, 2, 4096, 1024));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 3, 0, 40));
	wait_wc(&a);
	struct ibv_wc w = wait_wc(&b);
	MUST(!post_send(&b, IBV_SEND_SIGNALED, 4, 0, fault ? 1024 : w.byte_len));
	wait_wc(&b);
	wait_wc(&a);
	return done(&a, &b);
}
