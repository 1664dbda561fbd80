// retry: retry_cnt 0 ends the connection at the first lost packet
// at: IBV_QP_RETRY_CNT
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	if (fault)
		with.retry_cnt = 0;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	exchange(&a, &b, 2);
	return done(&a, &b);
}
