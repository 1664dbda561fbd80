// psn: both ends take their own first PSN for that of the peer
// at: IBV_QP_RQ_PSN
// created: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	MUST(!to_init(&a) && !to_init(&b));
	int own[2] = {4711, 815};
	with.rq_psn = own[fault ? 0 : 1];
	MUST(!to_rtr(&a, &b));
	with.rq_psn = own[fault ? 1 : 0];
	MUST(!to_rtr(&b, &a));
	with.sq_psn = own[0];
	MUST(!to_rts(&a));
	with.sq_psn = own[1];
	MUST(!to_rts(&b));
	exchange(&a, &b, 2);
	return done(&a, &b);
}
