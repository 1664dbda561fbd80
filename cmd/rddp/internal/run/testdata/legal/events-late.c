// events: a completion that has been polled is taken for a sign that its event is there
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		MUST(!ibv_req_notify_cq(a.cq, 0));
		MUST(!post_recv(&b, i, 0, 64));
		MUST(!post_send(&a, IBV_SEND_SIGNALED, i, 0, 64));
		wait_wc(&a);
		wait_wc(&b);
		struct pollfd p = {.fd = a.channel->fd, .events = POLLIN};
		MUST(poll(&p, 1, fault ? 0 : -1) == 1);
		struct ibv_cq *cq;
		void *context;
		MUST(!ibv_get_cq_event(a.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
	return done(&a, &b);
}
