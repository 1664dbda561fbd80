// completion-queue: it has room for fewer completions than there are receives and work requests
// at: ibv_post_send(
// created: ibv_create_cq(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.cqe = fault ? 8 : 16;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 12; i++)
		MUST(!post_recv(&a, i, 64 * i, 64));
	exchange(&a, &b, 2);
	return done(&a, &b);
}
