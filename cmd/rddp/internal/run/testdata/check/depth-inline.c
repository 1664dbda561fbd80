// depth: more inline data than cards have
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	with.inline_data = fault ? 1000 : 64;
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	return done(&a, &b);
}
