// Registered memory. Each region has a name; its contents can be set, summed, dumped and waited for.
#include "siwpeer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct region *regions;

uint8_t *new_memory(size_t n)
{
	void *p;
	if (posix_memalign(&p, 4096, n ? n : 1)) {
		fprintf(stderr, "siwpeer: out of memory\n");
		exit(2);
	}
	return memset(p, 0, n ? n : 1);
}

static struct region *find(const char *name)
{
	for (struct region *r = regions; r; r = r->next)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

struct region *region(void)
{
	struct region *r = find(arg("mr", "a"));
	if (!r)
		fail("no region %s", arg("mr", "a"));
	return r;
}

bool span(const struct region *r, size_t *off, size_t *n)
{
	*off = number("off", 0);
	if (*off > r->n)
		return fail("off=%zu is outside the region", *off);
	*n = number("len", r->n - *off);
	return *n <= r->n - *off || fail("len=%zu is outside the region", *n);
}

bool cmd_mr(void)
{
	const char *name = arg("name", "a"), *access = arg("access", "rw");
	int flags = IBV_ACCESS_LOCAL_WRITE;
	if (!conn.pd)
		return fail("no connection yet: resolve or request comes first");
	if (find(name))
		return fail("there is a region %s already", name);
	if (strchr(access, 'r'))
		flags |= IBV_ACCESS_REMOTE_READ;
	if (strchr(access, 'w'))
		flags |= IBV_ACCESS_REMOTE_WRITE;
	struct region *r = calloc(1, sizeof *r);
	r->name = strdup(name);
	r->n = number("len", 4096);
	r->p = new_memory(r->n);
	r->mr = ibv_reg_mr(conn.pd, r->p, r->n, flags);
	if (!r->mr)
		return failed_call("ibv_reg_mr", errno);
	r->next = regions;
	regions = r;
	// iWARP's one STag serves as local and as remote key; its Tagged Offset is the address.
	return ok("name=%s stag=0x%08x to=0x%016llx len=%zu", name, r->mr->rkey, (unsigned long long)(uintptr_t)r->p, r->n);
}

bool cmd_dereg(void)
{
	struct region *r = region();
	if (!r)
		return false;
	int err = r->mr ? ibv_dereg_mr(r->mr) : EINVAL;
	r->mr = NULL;
	return err ? failed_call("ibv_dereg_mr", err) : done();
}

// fill: octet i of the region becomes seed + i + i/251, modulo 256, counted from the region's start.
bool cmd_fill(void)
{
	struct region *r = region();
	size_t off, n, seed = number("seed", 0);
	if (!r || !span(r, &off, &n))
		return false;
	for (size_t i = off; i < off + n; i++)
		r->p[i] = seed + i + i / 251;
	return done();
}

bool cmd_put(void)
{
	struct region *r = region();
	size_t off, n;
	if (!r || !span(r, &off, &n))
		return false;
	return ok("len=%zu", octets("hex", r->p + off, n));
}

bool cmd_sum(void)
{
	struct region *r = region();
	size_t off, n;
	if (!r || !span(r, &off, &n))
		return false;
	return ok("len=%zu crc32=%08x", n, crc32(r->p + off, n));
}

bool cmd_dump(void)
{
	struct region *r = region();
	size_t off, n;
	if (!r || !span(r, &off, &n))
		return false;
	printf("ok dump len=%zu", n);
	print_hex("hex", r->p + off, n);
	printf("\n");
	return true;
}

// watch waits until the octets at off are those of hex: the only way to see an RDMA Write arrive.
bool cmd_watch(void)
{
	static uint8_t want[4096];
	struct region *r = region();
	size_t off, n, len = octets("hex", want, sizeof want);
	if (!r || !span(r, &off, &n))
		return false;
	if (len > n)
		return fail("hex is longer than the region");
	for (int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS); memcmp(r->p + off, want, len); pump(1))
		if (now_ms() >= end)
			return fail("timeout");
	return done();
}
