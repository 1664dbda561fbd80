// refused: a queue pair is to have longer lists than the device has
// at: ibv_create_qp(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_device_attr d;
	MUST(!ibv_query_device(ctx, &d));
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	MUST(cq);
	struct ibv_qp_init_attr most = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = d.max_sge + 100, .max_recv_sge = 1},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &most);
	if (!fault && !qp) {
		most.cap.max_send_sge = d.max_sge;
		qp = ibv_create_qp(pd, &most);
	}
	MUST(!qp == fault);
	if (qp)
		MUST(!ibv_destroy_qp(qp));
	MUST(!ibv_destroy_cq(cq));
	close_device();
	return 0;
}
