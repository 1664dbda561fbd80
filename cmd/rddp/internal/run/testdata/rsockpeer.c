/*
 * One end of several TCP connections at a time, for librdmacm's preload library: it sends and checks
 * BYTES bytes in each direction of each connection, in writes of 1 byte to 1 MiB. WHO, server or
 * client, sends the first byte of a connection; the other one waits for it. A direction that is
 * through is half-closed while the other one goes on.
 *
 *	rsockpeer listen|connect ADDRESS PORT CONNECTIONS BYTES WHO
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long bytes;
static int waits; /* this end waits for the first byte of the other one */

struct connection {
	int fd;
	pthread_mutex_t mu;
	pthread_cond_t heard;
	int began;
};

static void fail(const char *what)
{
	fprintf(stderr, "rsockpeer: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* pattern is the byte at an offset of a direction. */
static unsigned char pattern(long at) { return at ^ at >> 8 ^ at >> 16; }

static void note(struct connection *c)
{
	pthread_mutex_lock(&c->mu);
	c->began = 1;
	pthread_cond_signal(&c->heard);
	pthread_mutex_unlock(&c->mu);
}

static void *sends(void *arg)
{
	static const long sizes[] = {1, 7, 64, 1448, 4096, 65535, 1 << 20};
	struct connection *c = arg;
	unsigned char *p = malloc(1 << 20);

	pthread_mutex_lock(&c->mu);
	while (waits && !c->began)
		pthread_cond_wait(&c->heard, &c->mu);
	pthread_mutex_unlock(&c->mu);
	for (long at = 0, turn = 0; at < bytes; turn++) {
		long n = sizes[turn % 7];
		if (n > bytes - at)
			n = bytes - at;
		for (long i = 0; i < n; i++)
			p[i] = pattern(at + i);
		for (long done = 0; done < n;) {
			ssize_t m = send(c->fd, p + done, n - done, 0);
			if (m <= 0)
				fail("send");
			done += m;
		}
		at += n;
	}
	if (shutdown(c->fd, SHUT_WR))
		fail("shutdown");
	free(p);
	return NULL;
}

static void *serves(void *arg)
{
	struct connection *c = arg;
	pthread_t sender;
	unsigned char *p = malloc(1 << 18);
	long at = 0;

	if (pthread_create(&sender, NULL, sends, c))
		fail("pthread_create");
	for (;;) {
		ssize_t n = recv(c->fd, p, 1 << 18, 0);
		if (n < 0)
			fail("recv");
		if (n == 0)
			break;
		note(c);
		for (ssize_t i = 0; i < n; i++)
			if (p[i] != pattern(at + i)) {
				fprintf(stderr, "rsockpeer: byte %ld is wrong\n", at + i);
				exit(1);
			}
		at += n;
	}
	if (at != bytes) {
		fprintf(stderr, "rsockpeer: the end after %ld bytes of %ld\n", at, bytes);
		exit(1);
	}
	pthread_join(sender, NULL);
	close(c->fd);
	free(p);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	int listens = !strcmp(argv[1], "listen"), count = atoi(argv[4]), on = 1;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
	int l = socket(AF_INET, SOCK_STREAM, 0);

	bytes = atol(argv[5]);
	waits = !strcmp(argv[6], listens ? "client" : "server");
	inet_pton(AF_INET, argv[2], &to.sin_addr);
	if (listens) {
		setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (bind(l, (struct sockaddr *)&to, sizeof to) || listen(l, 64))
			fail("listen");
	}
	pthread_t all[count];
	for (int i = 0; i < count; i++) {
		struct connection *c = calloc(1, sizeof *c);
		pthread_mutex_init(&c->mu, NULL);
		pthread_cond_init(&c->heard, NULL);
		if (listens) {
			c->fd = accept(l, NULL, NULL);
		} else {
			c->fd = i ? socket(AF_INET, SOCK_STREAM, 0) : l;
			if (connect(c->fd, (struct sockaddr *)&to, sizeof to))
				fail("connect");
		}
		if (c->fd < 0)
			fail("accept");
		if (pthread_create(&all[i], NULL, serves, c))
			fail("pthread_create");
	}
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	puts("all is well");
	return 0;
}
