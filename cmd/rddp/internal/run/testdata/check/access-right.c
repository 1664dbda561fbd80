// access: the memory region is registered without the right that an RDMA Write needs
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64));
	any_wc(&a);
	return done(&a, &b);
}
