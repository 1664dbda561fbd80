// stale: it moves other memory over registered memory (MREMAP_FIXED), and uses it
#define _GNU_SOURCE
#include "check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct end a = make_end(), b = make_end();
	join(&a, &b);
	char *other = pages(BUFFER), *to = fault ? a.buffer : pages(BUFFER);
	MUST(mremap(other, BUFFER, BUFFER, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	exchange(&a, &b, 3);
	if (!fault)
		munmap(to, BUFFER);
	return done(&a, &b);
}
