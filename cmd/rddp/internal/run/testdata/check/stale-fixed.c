// stale: memory is mapped over registered memory
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	char *p = pages(16384);
	struct ibv_mr *m = ibv_reg_mr(pd, p, 16384, with.access);
	MUST(m);
	if (fault)
		MUST(mmap(p, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	memset(p, 2, 16384);
	MUST(!post_rdma(&a, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 0, 256, p, m->rkey));
	wait_wc(&a);
	MUST(!ibv_dereg_mr(m));
	return done(&a, &b);
}
