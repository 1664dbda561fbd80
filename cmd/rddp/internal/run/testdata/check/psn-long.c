// psn: a first PSN has more than 24 bits
// at: IBV_QP_SQ_PSN
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	with.sq_psn = with.rq_psn = 0x345678;
	MUST(!to_init(&a) && !to_init(&b));
	MUST(!to_rtr(&a, &b) && !to_rtr(&b, &a));
	if (fault)
		with.sq_psn |= 0x12000000;
	MUST(!to_rts(&a) && !to_rts(&b));
	exchange(&a, &b, 2);
	return done(&a, &b);
}
