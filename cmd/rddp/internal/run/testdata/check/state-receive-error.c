// state: flushed receives are posted again at once
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 4; i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	MUST(!to_error(&b));
	for (int i = 0; i < (fault ? 16 : 4); i++) {
		struct ibv_wc w = any_wc(&b);
		if (fault)
			post_recv(&b, w.wr_id, 64 * w.wr_id, 64);
	}
	return done(&a, &b);
}
