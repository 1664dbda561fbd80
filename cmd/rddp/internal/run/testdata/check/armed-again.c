// armed: the event is asked for once, and each request gives one
// armed: ibv_req_notify_cq(
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct ibv_cq *cq;
	struct ibv_wc w;
	void *x;
	MUST(!ibv_req_notify_cq(b.cq, 0));
	for (int got = 0; got < 2; got++) {
		MUST(!post_recv(&b, got, 0, 64));
		MUST(!post_send(&a, IBV_SEND_SIGNALED, got, 0, 64));
		wait_wc(&a);
		if (poll(&(struct pollfd){b.channel->fd, POLLIN, 0}, 1, -1) == 1) {
			MUST(!ibv_get_cq_event(b.channel, &cq, &x));
			ibv_ack_cq_events(cq, 1);
			if (!fault)
				MUST(!ibv_req_notify_cq(cq, 0));
		}
		MUST(ibv_poll_cq(b.cq, 1, &w) == 1);
	}
	return done(&a, &b);
}
