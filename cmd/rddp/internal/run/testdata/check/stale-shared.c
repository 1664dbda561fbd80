// stale: it uses registered memory whose pages it has dropped, or it has dropped page tables of shared memory only
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, (fault ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	p[0] = 42;
	struct ibv_mr *m = ibv_reg_mr(pd, p, 8192, IBV_ACCESS_LOCAL_WRITE);
	MUST(m);
	MUST(!madvise(p, 8192, MADV_DONTNEED));
	MUST(fault || p[0] == 42);
	struct ibv_sge s = {(uintptr_t)p, 64, m->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {(uintptr_t)b.buffer, b.mr->rkey}}, *bad;
	MUST(!ibv_post_send(a.qp, &w, &bad));
	wait_wc(&a);
	MUST(!ibv_dereg_mr(m));
	munmap(p, 8192);
	return done(&a, &b);
}
