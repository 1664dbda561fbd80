// depth: more inline data than cards have
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.inline_data = fault ? 1000 : 64;
	struct end a = make_end(), b = make_end();
	// Nothing but an attempt tells how much inline data a device has.
	struct ibv_qp_init_attr most = {
		.send_cq = a.cq, .recv_cq = a.cq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 1000},
	};
	struct ibv_qp *attempt = ibv_create_qp(pd, &most);
	MUST(!attempt || !ibv_destroy_qp(attempt));
	join(&a, &b);
	return done(&a, &b);
}
