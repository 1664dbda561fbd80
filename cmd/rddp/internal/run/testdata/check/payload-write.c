// payload: so is that of an RDMA Write, at its end
// posted: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		a.buffer[40000] = i;
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, 0, 40001));
		if (fault)
			a.buffer[40000] = ~i;
		wait_wc(&a);
	}
	return done(&a, &b);
}
