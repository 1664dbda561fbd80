// armed: one completion is taken for each event
// ended: it waits until the finding is there
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	int got = 0;
	struct ibv_cq *cq;
	struct ibv_wc w;
	void *x;
	for (int i = 0; i < 4; i++)
		MUST(!post_recv(&b, i, 64 * i, 64));
	MUST(!ibv_req_notify_cq(b.cq, 0));
	for (int i = 0; i < 4; i++)
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
	for (int i = 0; i < 4; i++)
		wait_wc(&a);
	nap(2);
	while (got < 4 && poll(&(struct pollfd){b.channel->fd, POLLIN, 0}, 1, -1) == 1) {
		MUST(!ibv_get_cq_event(b.channel, &cq, &x));
		ibv_ack_cq_events(cq, 1);
		MUST(!ibv_req_notify_cq(cq, 0));
		while (ibv_poll_cq(cq, 1, &w) > 0) {
			got++;
			if (fault)
				break;
		}
	}
	return done(&a, &b);
}
