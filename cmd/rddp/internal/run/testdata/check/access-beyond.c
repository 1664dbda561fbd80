// access: the last 4 bytes of a Send are beyond the memory region
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	MUST(!post_recv(&b, 1, 0, 1024));
	MUST(!post_send(&a, IBV_SEND_SIGNALED, 2, BUFFER - (fault ? 1020 : 1024), 1024));
	any_wc(&a);
	return done(&a, &b);
}
