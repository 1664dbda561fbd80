// sizes: ibv_query_device is not asked how many entries a list may have
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_device_attr d;
	MUST(!ibv_query_device(ctx, &d));
	with.sge = fault || d.max_sge > 16 ? 16 : d.max_sge;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	return done(&a, &b);
}
