// state: a Send is posted before the queue pair is in RTS
// at: ibv_post_send(
// caller: return post(e, NULL
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	MUST(!to_init(&a) && !to_init(&b));
	MUST(!post_recv(&b, 1, 0, 64));
	MUST(!to_rtr(&a, &b) && !to_rtr(&b, &a));
	if (fault)
		MUST(!post_send(&a, IBV_SEND_SIGNALED, 1, 0, 64));
	MUST(!to_rts(&a) && !to_rts(&b));
	if (!fault)
		MUST(!post_send(&a, IBV_SEND_SIGNALED, 1, 0, 64));
	wait_wc(&a);
	wait_wc(&b);
	return done(&a, &b);
}
