#include <stdio.h>

long ibv_wait(char *b, int n);

__attribute__((noinline, noipa)) static long innermost(char *b, int n) {
	b[1] = 2;
	long r = ibv_wait(b, n); // here
	b[0]++;
	return r + b[0];
}

__attribute__((noinline)) static long middle(int depth, char *b, int n) {
	char more[64];
	if (depth > 0)
		return middle(depth - 1, more, sizeof more) + 1;
	return innermost(b, n) + more[0]; // caller
}

int main(void) {
	char b[16];
	puts("ready");
	fflush(stdout);
	return middle(100, b, sizeof b) == 4711;
}
