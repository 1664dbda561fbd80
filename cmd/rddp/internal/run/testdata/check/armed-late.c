// armed: the event is asked for when the completion is there already, and the program waits for ever
// armed: ibv_req_notify_cq(
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	nap(1000);
	MUST(!ibv_req_notify_cq(a.cq, 0));
	struct ibv_wc w;
	if (!fault)
		MUST(ibv_poll_cq(a.cq, 1, &w) == 1);
	struct pollfd p = {.fd = a.channel->fd, .events = POLLIN};
	MUST(poll(&p, 1, fault ? -1 : 1500) == 0);
	return done(&a, &b);
}
