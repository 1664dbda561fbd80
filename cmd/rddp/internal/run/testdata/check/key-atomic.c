// key: the lkey of the counter is used for an atomic
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.access |= IBV_ACCESS_REMOTE_ATOMIC;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_add(&a, 1, 0, b.buffer, fault ? b.mr->lkey : b.mr->rkey));
	any_wc(&a);
	return done(&a, &b);
}
