// completions: once the last of some messages has arrived elsewhere, ibv_poll_cq is taken to return the completions of all
#include "../check/check.h"

enum { N = 8 };

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < N; k++) {
			MUST(!post_recv(&b, k, 0, 64));
			MUST(!post_send(&a, IBV_SEND_SIGNALED, k, 0, 64));
		}
		struct ibv_wc w[N];
		wait_wc(&a);
		nap(1);
		for (int got = 1; got < N;) {
			int n = ibv_poll_cq(a.cq, N - got, w);
			MUST(n >= 0);
			if (fault)
				MUST(n == N - got);
			got += n;
		}
		for (int k = 0; k < N; k++)
			wait_wc(&b);
	}
	return done(&a, &b);
}
