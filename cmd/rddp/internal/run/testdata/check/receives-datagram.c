// lost: a datagram finds no receive, and is lost
#include "check.h"

static struct ibv_qp *datagrams(struct ibv_cq *cq) {
	struct ibv_qp_init_attr a = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *q = ibv_create_qp(pd, &a);
	MUST(q);
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 17};
	MUST(!ibv_modify_qp(q, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	to.qp_state = IBV_QPS_RTR;
	MUST(!ibv_modify_qp(q, &to, IBV_QP_STATE));
	to.qp_state = IBV_QPS_RTS;
	MUST(!ibv_modify_qp(q, &to, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return q;
}

int main(int argc, char **argv) {
	open_device(argc, argv);
	struct ibv_cq *cq;
	MUST(cq = ibv_create_cq(ctx, 16, NULL, NULL, 0));
	struct end e = {.cq = cq, .qp = datagrams(cq), .buffer = pages(BUFFER)}, f = {.cq = cq, .qp = datagrams(cq), .buffer = pages(BUFFER)};
	MUST(e.mr = ibv_reg_mr(pd, e.buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE));
	MUST(f.mr = ibv_reg_mr(pd, f.buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}};
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	MUST(ah);
	if (!fault)
		MUST(!post_recv(&f, 1, 0, 256));
	struct ibv_sge s = {(uintptr_t)e.buffer, 64, e.mr->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .wr.ud = {ah, f.qp->qp_num, 17}}, *bad;
	MUST(!ibv_post_send(e.qp, &w, &bad));
	wait_wc(&e);
	if (!fault)
		wait_wc(&e);
	nap(500);
	MUST(!ibv_destroy_ah(ah));
	MUST(!ibv_destroy_qp(e.qp) && !ibv_destroy_qp(f.qp));
	MUST(!ibv_dereg_mr(e.mr) && !ibv_dereg_mr(f.mr));
	MUST(!ibv_destroy_cq(cq));
	close_device();
	return 0;
}
