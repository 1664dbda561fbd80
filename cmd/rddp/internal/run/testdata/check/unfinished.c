// unfinished: the queue pair is destroyed as soon as the last RDMA Write is posted, and not when it is carried out
// at: ibv_destroy_qp(e->qp)
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 8; i++) {
		memset(a.buffer, i, BUFFER);
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, 0, BUFFER));
		if (!fault || i < 7)
			wait_wc(&a);
	}
	return done(&a, &b);
}
