// mtu: the two ends have packets of different lengths
// at: IBV_QP_PATH_MTU
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	MUST(!to_init(&a) && !to_init(&b));
	MUST(!to_rtr(&a, &b));
	if (fault)
		with.path_mtu = IBV_MTU_4096;
	MUST(!to_rtr(&b, &a));
	MUST(!to_rts(&a) && !to_rts(&b));
	exchange(&a, &b, 2);
	return done(&a, &b);
}
