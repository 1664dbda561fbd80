// What stands for libibverbs: a function that the program calls makes a system call, through another function.
#include <string.h>
#include <unistd.h>

#ifdef DIRECT
#define call read
#else
static long (*volatile call)(int, void *, size_t) = (long (*)(int, void *, size_t))read;
#endif

__attribute__((noinline)) long execute(char *command, int n, long more) {
	char buffer[200];
	memset(buffer, n, sizeof buffer);
	long r = call(0, buffer, n);
	command[0] = buffer[more & 7];
	return r + more;
}

long ibv_wait(char *b, int n) {
	char command[64];
	long r = execute(command, n, n * 3);
	b[0] = command[0];
	return r + b[0];
}
