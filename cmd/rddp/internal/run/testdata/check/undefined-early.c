// undefined: the data of an RDMA Read is copied before its completion
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	memset(b.buffer, 'b', 64);
	MUST(!post_recv(&b, 1, 4096, 64));
	MUST(!post(&a, &b, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 2, 0, 64));
	if (!fault)
		wait_wc(&a);
	memcpy(a.buffer + 4096, a.buffer, 64);
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 3, 4096, 64));
	wait_wc(&a);
	if (fault)
		wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
