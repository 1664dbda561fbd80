// leak: it leaves a completion channel, or a worker that it has forked has inherited it
#include "check.h"
#include <sys/wait.h>

int main(int argc, char **argv) {
	with.channel = true;
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	int wait[2];
	MUST(!pipe(wait));
	pid_t worker = fork(); // it has nothing to do with verbs, and outlives its parent
	MUST(worker >= 0);
	if (!worker) {
		char c;
		close(wait[1]);
		(void)!read(wait[0], &c, 1);
		nap(200);
		_exit(0);
	}
	exchange(&a, &b, 3);
	if (fault)
		MUST(ibv_create_comp_channel(ctx));
	return done(&a, &b);
}
