// armed: an event is waited for, and nobody has asked for one
// ended: it waits until the finding is there
#include <sys/epoll.h>
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.channel = true;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	if (!fault)
		MUST(!ibv_req_notify_cq(a.cq, 0));
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	struct epoll_event e = {.events = EPOLLIN};
	int in = epoll_create1(0);
	MUST(in >= 0 && !epoll_ctl(in, EPOLL_CTL_ADD, a.channel->fd, &e));
	if (epoll_wait(in, &e, 1, -1) == 1) {
		struct ibv_cq *cq;
		void *x;
		MUST(!ibv_get_cq_event(a.channel, &cq, &x));
		ibv_ack_cq_events(cq, 1);
	}
	wait_wc(&a);
	return done(&a, &b);
}
