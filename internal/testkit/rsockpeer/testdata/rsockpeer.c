/*
 * One end of several TCP connections at a time, for librdmacm's preload library: it sends and checks
 * BYTES bytes in each direction of each connection, in writes of 1 byte to 1 MiB. FIRST, server or
 * client, sends the first byte of a connection, which the other end waits for. ENDS half-closes first;
 * the other end sends its second half after that.
 *
 *	rsockpeer listen|connect ADDRESS PORT CONNECTIONS BYTES FIRST ENDS
 *
 * It avoids two defects of librdmacm, with which it would wait forever:
 *
 * - Of two threads that wait in recv and in send of one connection, one can miss what it waits for.
 *   It looks whether the completion queue is armed only after it has let go of the lock, and the other one
 *   may have taken its Completion and armed the queue again. So this program has one thread.
 * - shutdown can return 0 without having sent the word that the direction has ended. It waits for one
 *   of four slots for control messages. When one is free, librdmacm first sends the descriptors that
 *   it owes the peer, two slots each, and if none is left then, the word is forgotten. It is forgotten
 *   also if the peer's end arrives meanwhile. So this program calls shutdown when it owes nothing: it
 *   has read all that the peer sends before it reads our end, and has since sent TAIL bytes, one at a
 *   time. Each takes two of the 380 entries of the send queue, whose Completions come in order. So of any
 *   191 messages in a row the first one is complete, and all that was sent before it. The last descriptor
 *   goes when those before it have returned their slots. After four such rounds no slot is in use.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAIL = 800 };

static long bytes;
static int begins; /* this end sends the first byte */
static int leads; /* this end half-closes first */

struct connection {
	int fd;
	long sent, got;
	long end; /* where the current write ends */
	long turn;
	int heard_end;
};

static unsigned char p[1 << 20];

static void fail(const char *what)
{
	fprintf(stderr, "rsockpeer: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* pattern is the byte at an offset of a direction. */
static unsigned char pattern(long at) { return at ^ at >> 8 ^ at >> 16; }

/* may_send returns the offset up to which this end may send now. */
static long may_send(struct connection *c)
{
	if (!begins && c->got == 0)
		return 0;
	if (leads)
		return c->got < bytes / 2 ? bytes - TAIL : bytes;
	return c->heard_end ? bytes : bytes / 2;
}

static void sends(struct connection *c)
{
	static const long sizes[] = {1, 7, 64, 1448, 4096, 65535, 1 << 20};

	if (c->sent == c->end) {
		long limit = may_send(c), n = sizes[c->turn++ % 7];
		if (c->sent >= bytes - TAIL)
			n = 1;
		else if (limit > bytes - TAIL)
			limit = bytes - TAIL;
		c->end = c->sent + n < limit ? c->sent + n : limit;
	}
	for (long i = c->sent; i < c->end; i++)
		p[i - c->sent] = pattern(i);
	ssize_t n = send(c->fd, p, c->end - c->sent, MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN)
		fail("send");
	if (n > 0)
		c->sent += n;
	if (c->sent == bytes && shutdown(c->fd, SHUT_WR))
		fail("shutdown");
}

static void receives(struct connection *c)
{
	ssize_t n = recv(c->fd, p, 1 << 18, MSG_DONTWAIT);
	if (n < 0) {
		if (errno != EAGAIN)
			fail("recv");
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (p[i] != pattern(c->got + i)) {
			fprintf(stderr, "rsockpeer: byte %ld is wrong\n", c->got + i);
			exit(1);
		}
	c->got += n;
	c->heard_end = n == 0;
	if (c->heard_end && c->got != bytes) {
		fprintf(stderr, "rsockpeer: the end after %ld bytes of %ld\n", c->got, bytes);
		exit(1);
	}
}

static void transfers(struct connection *all, int count)
{
	struct pollfd fds[count];

	while (count) {
		for (int i = 0; i < count; i++) {
			struct connection *c = &all[i];
			fds[i] = (struct pollfd){.fd = c->fd, .events = (c->heard_end ? 0 : POLLIN) | (c->sent < may_send(c) ? POLLOUT : 0)};
		}
		if (poll(fds, count, -1) < 0)
			fail("poll");
		for (int i = count - 1; i >= 0; i--) {
			struct connection *c = &all[i];
			if (fds[i].revents & ~POLLOUT && !c->heard_end)
				receives(c);
			if (fds[i].revents & POLLOUT)
				sends(c);
			if (c->heard_end && c->sent == bytes) {
				close(c->fd);
				*c = all[--count];
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 8)
		return 2;
	int listens = !strcmp(argv[1], "listen"), count = atoi(argv[4]), on = 1;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
	int l = socket(AF_INET, SOCK_STREAM, 0);

	bytes = atol(argv[5]);
	begins = !strcmp(argv[6], listens ? "server" : "client");
	leads = !strcmp(argv[7], listens ? "server" : "client");
	inet_pton(AF_INET, argv[2], &to.sin_addr);
	if (listens) {
		setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (bind(l, (struct sockaddr *)&to, sizeof to) || listen(l, 64))
			fail("listen");
	}
	struct connection all[count];
	memset(all, 0, sizeof all);
	for (int i = 0; i < count; i++) {
		if (listens) {
			all[i].fd = accept(l, NULL, NULL);
		} else {
			all[i].fd = i ? socket(AF_INET, SOCK_STREAM, 0) : l;
			if (connect(all[i].fd, (struct sockaddr *)&to, sizeof to))
				fail("connect");
		}
		if (all[i].fd < 0)
			fail("accept");
	}
	transfers(all, count);
	puts("all is well");
	return 0;
}
