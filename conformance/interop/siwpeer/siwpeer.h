// siwpeer: a scripted verbs peer. See ../README.md for its commands; main.c has the list.
#ifndef SIWPEER_H
#define SIWPEER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// main.c: the command line under way, "verb key=value ...", and its answer.
const char *arg(const char *key, const char *fallback);
uint64_t number(const char *key, uint64_t fallback); // in C's notation, or a sum a+b of such, modulo 2^64
size_t octets(const char *key, uint8_t *to, size_t max); // a value in hex; how many octets it has
bool done(void); // the last line of an answer that has nothing to say
bool ok(const char *format, ...) __attribute__((format(printf, 1, 2)));   // the last line of an answer
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2))); // likewise
bool failed_call(const char *call, int err);                              // likewise, err is an errno
void line(const char *format, ...) __attribute__((format(printf, 1, 2))); // any other line
void print_hex(const char *key, const uint8_t *p, size_t n);              // appends " key=hex" to a line
uint32_t crc32(const uint8_t *p, size_t n);                               // zlib's and Ethernet's, as in Go's hash/crc32.IEEE
int64_t now_ms(void);

// The longest wait of a command that does not say ms=. A guest without KVM on a busy machine is slow.
enum { PATIENCE_MS = 20000 };
// The kernel's limit for resolving an address. If the answer to its ARP request comes at a bad moment, the kernel looks only
// when this time is over, so the program has to wait for longer.
enum { RESOLVE_MS = 5000 };

// conn.c: one connection, its queue pair and its events.
struct connection {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *wake[2]; // of cq[SQ], cq[RQ]
	struct ibv_cq *cq[2];
	bool disconnected;
};
enum { SQ, RQ };
extern struct connection conn;
void pump(int ms); // prints the events that there are, waiting at most ms for the first
bool cmd_listen(void), cmd_request(void), cmd_accept(void), cmd_reject(void), cmd_resolve(void), cmd_connect(void);
bool cmd_event(void), cmd_disconnect(void), cmd_close(void);

// memory.c: registered memory, by name.
struct region {
	const char *name;
	uint8_t *p;
	size_t n;
	struct ibv_mr *mr; // NULL: deregistered
	struct region *next;
};
struct region *region(void); // the one that mr= names; prints the failure
bool span(const struct region *r, size_t *off, size_t *n); // off= and len= (default: all of it) within r; prints the failure
uint8_t *new_memory(size_t n); // never freed: late octets of a peer do no harm
bool cmd_mr(void), cmd_dereg(void), cmd_fill(void), cmd_put(void), cmd_sum(void), cmd_dump(void), cmd_watch(void);

// work.c: work requests and completions.
bool cmd_recv(void), cmd_post(void), cmd_do(void), cmd_wait(void), cmd_recvdump(void), cmd_arm(void), cmd_wake(void);

// spec.c: the peer of rddp spec. It does not return.
bool cmd_spec(void);

#endif
