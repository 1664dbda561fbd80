// sizes: more receives are posted than max_recv_wr
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.recv_wr = 10;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < (fault ? 12 : 10); i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	return done(&a, &b);
}
