// state: each flushed receive is posted again once, as if a message had come
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 3; i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	MUST(!to_error(&b));
	struct ibv_wc w[3];
	for (int n = 0; n < 3; n++)
		w[n] = any_wc(&b);
	for (int n = 0; fault && n < 3; n++)
		post_recv(&b, w[n].wr_id, 64 * w[n].wr_id, 64);
	return done(&a, &b);
}
