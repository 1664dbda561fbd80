// again: a list is posted again from its head, after there was no room for all of it
// at: ibv_post_send(
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.send_wr = 4;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	enum { N = 12 };
	struct ibv_sge s[N];
	struct ibv_send_wr w[N] = {0}, *next = w;
	struct ibv_wc wc;
	exchange(&a, &b, 1);
	for (int i = 0; i < N; i++) {
		s[i] = (struct ibv_sge){(uintptr_t)a.buffer + 64 * i, 64, a.mr->lkey};
		w[i] = (struct ibv_send_wr){.wr_id = i, .sg_list = &s[i], .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .next = i < N - 1 ? &w[i + 1] : NULL};
		w[i].wr.rdma.remote_addr = (uintptr_t)b.buffer + 64 * i;
		w[i].wr.rdma.rkey = b.mr->rkey;
	}
	for (int i = 0; i < 5; i++) {
		struct ibv_send_wr *bad;
		int e = ibv_post_send(a.qp, next, &bad);
		while (try_wc(&a, &wc, 0.1))
			;
		if (!e)
			break;
		if (!fault)
			next = bad;
	}
	return done(&a, &b);
}
