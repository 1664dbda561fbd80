// stale: a peer writes to memory whose pages were dropped since it was registered
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	if (fault)
		madvise(b.buffer, 4096, MADV_DONTNEED);
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	wait_wc(&a);
	return done(&a, &b);
}
