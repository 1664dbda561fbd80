// refused: the queue pair is to go from RESET to RTS at once
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	if (fault)
		MUST(to_rts(&a));
	join(&a, &b);
	return done(&a, &b);
}
