// depth: no common card has 64 Reads under way
// at: ibv_modify_qp(
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.max_rd_atomic = with.max_dest_rd_atomic = 64;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
