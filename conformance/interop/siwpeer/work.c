// Work requests and completions.
#include "siwpeer.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POST = 1024, SHOWN = 64 };

// A wr_id is a number, counted from 1 per queue; for sends the operation's index stands above bit 32.
static uint64_t sends, receives;

static struct receive { uint8_t *p; size_t n; } *received; // by number
static size_t room;

static const struct { const char *name; enum ibv_wr_opcode opcode; unsigned flags; } ops[] = {
	{ "send", IBV_WR_SEND, 0 },
	{ "sendse", IBV_WR_SEND, IBV_SEND_SOLICITED },
	{ "sendinv", IBV_WR_SEND_WITH_INV, 0 },
	{ "sendseinv", IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED },
	{ "write", IBV_WR_RDMA_WRITE, 0 },
	{ "read", IBV_WR_RDMA_READ, 0 },
	{ "fetchadd", IBV_WR_ATOMIC_FETCH_AND_ADD, 0 },
	{ "cmpswap", IBV_WR_ATOMIC_CMP_AND_SWP, 0 },
	{ "sendimm", IBV_WR_SEND_WITH_IMM, 0 },
	{ "writeimm", IBV_WR_RDMA_WRITE_WITH_IMM, 0 },
};

static const char *status_name(enum ibv_wc_status s)
{
	switch (s) {
	case IBV_WC_SUCCESS: return "success";
	case IBV_WC_LOC_LEN_ERR: return "loc_len_err";
	case IBV_WC_LOC_QP_OP_ERR: return "loc_qp_op_err";
	case IBV_WC_LOC_PROT_ERR: return "loc_prot_err";
	case IBV_WC_WR_FLUSH_ERR: return "wr_flush_err";
	case IBV_WC_BAD_RESP_ERR: return "bad_resp_err";
	case IBV_WC_LOC_ACCESS_ERR: return "loc_access_err";
	case IBV_WC_REM_INV_REQ_ERR: return "rem_inv_req_err";
	case IBV_WC_REM_ACCESS_ERR: return "rem_access_err";
	case IBV_WC_REM_OP_ERR: return "rem_op_err";
	case IBV_WC_GENERAL_ERR: return "general_err";
	default: return "other";
	}
}

// recv posts n buffers of len octets, all in one piece of memory of their own.
bool cmd_recv(void)
{
	size_t n = number("n", 1), len = number("len", 65536);
	if (!conn.pd || !conn.id->qp)
		return fail("no queue pair");
	uint8_t *p = new_memory(n * len + 1); // never nothing: that cannot be registered
	struct ibv_mr *mr = ibv_reg_mr(conn.pd, p, n * len + 1, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return failed_call("ibv_reg_mr", errno);
	if (receives + n >= room) {
		room = receives + n + 64;
		received = realloc(received, room * sizeof *received);
	}
	for (size_t i = 0; i < n; i++, p += len) {
		// siw's library takes no receive without a buffer, so an empty one has one of length 0.
		struct ibv_sge sge = { (uintptr_t)p, len, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = receives + 1, .sg_list = &sge, .num_sge = 1 }, *bad;
		int err = ibv_post_recv(conn.id->qp, &wr, &bad);
		if (err)
			return fail("posted=%zu errno=%d", i, abs(err));
		received[++receives] = (struct receive){ p, len };
	}
	return ok("posted=%zu last=%llu", n, (unsigned long long)receives);
}

// post_list posts n requests of one kind with one call; off and to advance by step from one to the next.
static bool post_list(size_t op, size_t n)
{
	static struct ibv_send_wr wr[MAX_POST];
	static struct ibv_sge sge[MAX_POST];
	size_t off = 0, len = 0, step = number("step", 0);
	struct region *r = NULL;
	if (!conn.pd || !conn.id->qp || n < 1 || n > MAX_POST)
		return fail("no queue pair, or n outside 1..%d", MAX_POST);
	if (strcmp(arg("len", ""), "0")) {
		r = region();
		if (!r || !span(r, &off, &len))
			return false;
		if (!r->mr)
			return fail("the region is deregistered");
		if (step * (n - 1) + off + len > r->n)
			return fail("the last one is outside the region");
	}
	for (size_t i = 0; i < n; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = (uint64_t)op << 32 | (sends + 1 + i), .opcode = ops[op].opcode,
			.next = i + 1 < n ? &wr[i + 1] : NULL, .num_sge = r ? 1 : 0, .sg_list = &sge[i],
			.send_flags = ops[op].flags | (number("signal", 1) ? IBV_SEND_SIGNALED : 0) |
				      (number("fence", 0) ? IBV_SEND_FENCE : 0) | (number("inline", 0) ? IBV_SEND_INLINE : 0),
		};
		if (r)
			sge[i] = (struct ibv_sge){ (uintptr_t)(r->p + off + i * step), len, r->mr->lkey };
		wr[i].wr.rdma.remote_addr = number("to", 0) + i * step;
		wr[i].wr.rdma.rkey = number("stag", 1);
		if (ops[op].opcode == IBV_WR_SEND_WITH_INV) {
			// siw's library forgets invalidate_rkey, but hands this field to the driver, which sends it.
			wr[i].invalidate_rkey = wr[i].wr.rdma.rkey = number("inv", 0);
		}
	}
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(conn.id->qp, wr, &bad);
	sends += n;
	return err ? failed_call("ibv_post_send", abs(err)) : true;
}

static bool post(size_t *n)
{
	const char *name = arg("op", "send");
	*n = number("n", 1);
	for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
		if (!strcmp(ops[op].name, name))
			return post_list(op, *n);
	return fail("unknown op %s", name);
}

static void print_completion(int q, const struct ibv_wc *wc)
{
	uint32_t number = wc->wr_id;
	printf("wc q=%s id=%u op=%s status=%s", q == SQ ? "sq" : "rq", number,
	       q == SQ ? ops[wc->wr_id >> 32].name : "recv", status_name(wc->status));
	if (q == RQ && wc->status == IBV_WC_SUCCESS) {
		struct receive *r = &received[number];
		printf(" len=%u crc32=%08x", wc->byte_len, crc32(r->p, wc->byte_len));
		if (wc->byte_len <= SHOWN)
			print_hex("hex", r->p, wc->byte_len);
		if (wc->wc_flags & IBV_WC_WITH_INV)
			printf(" inv=0x%08x", wc->invalidated_rkey);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			printf(" imm=0x%08x", be32toh(wc->imm_data));
	}
	printf("\n");
}

// completions waits for n entries of one queue and prints each.
static bool completions(int q, size_t n)
{
	int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS);
	size_t errors = 0;
	if (!conn.cq[q])
		return fail("no queue");
	for (size_t got = 0; got < n;) {
		struct ibv_wc wc;
		if (ibv_poll_cq(conn.cq[q], 1, &wc) == 1) {
			print_completion(q, &wc);
			errors += wc.status != IBV_WC_SUCCESS;
			got++;
		} else if (now_ms() >= end) {
			return fail("timeout got=%zu", got);
		} else {
			pump(1);
		}
	}
	pump(0);
	return errors ? fail("errors=%zu", errors) : ok("n=%zu", n);
}

bool cmd_post(void)
{
	size_t n;
	return post(&n) && ok("n=%zu", n);
}

bool cmd_do(void)
{
	size_t n;
	return post(&n) && completions(SQ, n);
}

static int which(void) { return strcmp(arg("q", "sq"), "rq") ? SQ : RQ; }

bool cmd_wait(void) { return completions(which(), number("n", 1)); }

bool cmd_recvdump(void)
{
	size_t id = number("id", 1);
	if (id < 1 || id > receives)
		return fail("no such receive");
	size_t off = number("off", 0), n = number("len", received[id].n);
	if (off > received[id].n || n > received[id].n - off)
		return fail("outside the buffer");
	printf("ok recvdump len=%zu", n);
	print_hex("hex", received[id].p + off, n);
	printf("\n");
	return true;
}

// arm asks for one wake-up: at the next completion, or with solicited=1 at the next solicited one.
bool cmd_arm(void)
{
	int q = which();
	if (!conn.cq[q])
		return fail("no queue");
	int err = ibv_req_notify_cq(conn.cq[q], number("solicited", 0));
	return err ? failed_call("ibv_req_notify_cq", err) : done();
}

// wake waits for that wake-up.
bool cmd_wake(void)
{
	int q = which();
	if (!conn.cq[q])
		return fail("no queue");
	struct ibv_cq *cq;
	void *context;
	for (int64_t end = now_ms() + (int64_t)number("ms", PATIENCE_MS); ibv_get_cq_event(conn.wake[q], &cq, &context); pump(1))
		if (now_ms() >= end)
			return fail("timeout");
	ibv_ack_cq_events(cq, 1);
	return done();
}
