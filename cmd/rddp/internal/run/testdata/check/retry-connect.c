// retry: retry_count 0 in rdma_connect
// at: rdma_connect(
#include "request.h"

int main(int argc, char **argv) {
	prepare(argc, argv);
	MUST(!rdma_connect(asking, &(struct rdma_conn_param){.retry_count = fault ? 0 : 7}));
	MUST(!rdma_destroy_id(reject()));
	return over();
}
