// bytes: the last byte of a Write is taken for a sign that the others are there
#include "../check/check.h"

enum { N = 4096 };

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 1; i <= 50; i++) {
		memset(a.buffer, i, N);
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, 0, i, 0, N));
		if (fault) {
			volatile char *last = b.buffer + N - 1;
			while (*last != (char)i)
				;
		} else { // a message behind the Write tells of it
			MUST(!post_recv(&b, i, N, 8));
			MUST(!post_send(&a, 0, i, N, 8));
			wait_wc(&b);
		}
		for (int k = 0; k < N; k++)
			MUST(b.buffer[k] == (char)i);
		MUST(!post(&a, &b, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, i, 2 * N, 8));
		wait_wc(&a);
	}
	return done(&a, &b);
}
