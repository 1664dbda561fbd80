// events: a completion event is not acknowledged, and ibv_destroy_cq hangs
// at: ibv_destroy_cq(
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!ibv_req_notify_cq(a.cq, 0));
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	struct ibv_cq *cq;
	void *of;
	MUST(!ibv_get_cq_event(a.channel, &cq, &of));
	wait_wc(&a);
	if (!fault)
		ibv_ack_cq_events(cq, 1);
	return done(&a, &b);
}
