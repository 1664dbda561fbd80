// The command loop: one command per line of standard input, or per argument; each is answered by any
// number of lines and then exactly one that begins with "ok" or "fail".
#include "siwpeer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *verb;
static struct { const char *key, *value; } args[32];
static int nargs;
static bool quit;

static bool cmd_sleep(void)
{
	for (int64_t end = now_ms() + (int64_t)number("ms", 100); now_ms() < end;)
		pump(10);
	return done();
}

static bool cmd_quit(void)
{
	quit = true;
	return done();
}

static const struct { const char *verb; bool (*run)(void); } commands[] = {
	{ "listen", cmd_listen }, { "request", cmd_request }, { "accept", cmd_accept }, { "reject", cmd_reject },
	{ "resolve", cmd_resolve }, { "connect", cmd_connect }, { "event", cmd_event },
	{ "disconnect", cmd_disconnect }, { "close", cmd_close },
	{ "mr", cmd_mr }, { "dereg", cmd_dereg }, { "fill", cmd_fill }, { "put", cmd_put },
	{ "sum", cmd_sum }, { "dump", cmd_dump }, { "watch", cmd_watch },
	{ "recv", cmd_recv }, { "post", cmd_post }, { "do", cmd_do }, { "wait", cmd_wait },
	{ "recvdump", cmd_recvdump }, { "arm", cmd_arm }, { "wake", cmd_wake },
	{ "spec", cmd_spec }, { "sleep", cmd_sleep }, { "quit", cmd_quit },
};

const char *arg(const char *key, const char *fallback)
{
	for (int i = 0; i < nargs; i++)
		if (!strcmp(args[i].key, key))
			return args[i].value;
	return fallback;
}

uint64_t number(const char *key, uint64_t fallback)
{
	const char *v = arg(key, NULL);
	if (!v)
		return fallback;
	uint64_t sum = strtoull(v, NULL, 0);
	while ((v = strchr(v, '+')))
		sum += strtoull(++v, NULL, 0);
	return sum;
}

size_t octets(const char *key, uint8_t *to, size_t max)
{
	const char *v = arg(key, "");
	size_t n = 0;
	for (unsigned x; n < max && sscanf(v + 2 * n, "%2x", &x) == 1; n++)
		to[n] = x;
	return n;
}

static void vline(const char *first, const char *format, va_list ap)
{
	if (first)
		printf("%s %s ", first, verb);
	vprintf(format, ap);
	printf("\n");
}

bool done(void)
{
	printf("ok %s\n", verb);
	return true;
}

bool ok(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vline("ok", format, ap);
	va_end(ap);
	return true;
}

bool fail(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vline("fail", format, ap);
	va_end(ap);
	return false;
}

bool failed_call(const char *call, int err)
{
	return fail("call=%s errno=%d error=\"%s\"", call, err, strerror(err));
}

void line(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vline(NULL, format, ap);
	va_end(ap);
}

void print_hex(const char *key, const uint8_t *p, size_t n)
{
	printf(" %s=", key);
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

uint32_t crc32(const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
		}
	uint32_t c = ~0u;
	while (n--)
		c = c >> 8 ^ table[(c ^ *p++) & 0xff];
	return ~c;
}

int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

// run carries out one command line; false: it failed.
static bool run(char *text)
{
	char *save;
	nargs = 0;
	verb = strtok_r(text, " \t\r\n", &save);
	if (!verb || *verb == '#')
		return true;
	for (char *a; (a = strtok_r(NULL, " \t\r\n", &save));) {
		char *equals = strchr(a, '=');
		if (!equals || nargs == sizeof args / sizeof *args)
			return fail("bad argument %s", a);
		*equals = 0;
		args[nargs].key = a;
		args[nargs++].value = equals + 1;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].verb, verb))
			return commands[i].run();
	return fail("unknown command");
}

int main(int argc, char **argv)
{
	bool good = true;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc && good && !quit; i++)
		good = run(argv[i]);
	if (argc == 1) {
		char *text = NULL;
		size_t size = 0;
		while (!quit && getline(&text, &size, stdin) > 0)
			good = run(text);
	}
	// The kernel takes everything down; an orderly end is what "disconnect" and "close" are for.
	return good ? 0 : 1;
}
