// sink: the program clears the buffer of a receive that is posted
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	memset(b.buffer, 1, 256);
	if (!fault)
		memset(b.buffer, 0, 256);
	MUST(!post_recv(&b, 1, 0, 256));
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 2, 4096, 64)); // other work meanwhile
	wait_wc(&a);
	if (fault)
		memset(b.buffer, 0, 256);
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 3, 0, 256));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
