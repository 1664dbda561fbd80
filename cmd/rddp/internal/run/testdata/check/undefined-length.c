// undefined: a message is passed on with the length of a receive that has failed
// at: return ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end(), c = make_end(), d = make_end();
	join(&a, &b);
	join(&c, &d);
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!to_error(&b)); // the orderly end
	struct ibv_wc w = any_wc(&b);
	MUST(!post_recv(&d, 2, 0, 64));
	if (fault || w.status == IBV_WC_SUCCESS) {
		MUST(!post_send(&c, IBV_SEND_SIGNALED, 3, 0, w.byte_len));
		any_wc(&c);
	}
	destroy_end(&c);
	destroy_end(&d);
	return done(&a, &b);
}
