// conflict: the owner of a buffer sends it on, and does not wait for the message that says that a peer has written it
// at: return ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	struct end c = make_end(), d = make_end();
	join(&c, &d);
	exchange(&a, &b, 1);
	exchange(&c, &d, 1);
	MUST(!post_recv(&b, 1, 4096, 64));
	MUST(!post_recv(&d, 2, 0, 1024));
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, 0, 3, 0, 1024, c.buffer, c.mr->rkey));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 4, 4096, 64)); // "it is there"
	if (!fault)
		wait_wc(&b);
	MUST(!post_send(&c, IBV_SEND_SIGNALED, 5, 0, 1024));
	wait_wc(&c);
	wait_wc(&d);
	if (fault)
		wait_wc(&b);
	wait_wc(&a);
	destroy_end(&c);
	destroy_end(&d);
	return done(&a, &b);
}
