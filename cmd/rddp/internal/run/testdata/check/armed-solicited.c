// armed: an event is asked for solicited messages, and the sender does not say that its message is one
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct ibv_cq *cq;
	void *x;
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!ibv_req_notify_cq(b.cq, 1));
	MUST(!post_send(&a, IBV_SEND_SIGNALED | (fault ? 0 : IBV_SEND_SOLICITED), 2, 0, 64));
	wait_wc(&a);
	if (poll(&(struct pollfd){b.channel->fd, POLLIN, 0}, 1, -1) == 1) {
		MUST(!ibv_get_cq_event(b.channel, &cq, &x));
		ibv_ack_cq_events(cq, 1);
		wait_wc(&b);
	}
	return done(&a, &b);
}
