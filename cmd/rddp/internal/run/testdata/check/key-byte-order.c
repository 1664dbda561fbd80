// key: the rkey came over the network, and its byte order has not been changed back
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	uint32_t sent = htonl(b.mr->rkey);
	MUST(!post_rdma(&a, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 0, 64, b.buffer, fault ? sent : ntohl(sent)));
	any_wc(&a);
	return done(&a, &b);
}
