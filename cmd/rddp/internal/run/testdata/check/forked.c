// forked: a child runs the clean-up of its parent, and destroys the parent's queue pair
// created: ibv_create_qp(
#include "check.h"
#include <sys/wait.h>

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		if (fault)
			ibv_destroy_qp(b.qp);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (fault)
		_exit(0); // the queue pair is gone
	exchange(&a, &b, 1);
	return done(&a, &b);
}
