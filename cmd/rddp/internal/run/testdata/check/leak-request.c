// leak: the id of a request that is rejected is left
#include "request.h"

int main(int argc, char **argv) {
	prepare(argc, argv);
	MUST(!rdma_connect(asking, &(struct rdma_conn_param){.retry_count = 7}));
	struct rdma_cm_id *request = reject();
	if (!fault)
		MUST(!rdma_destroy_id(request));
	return over();
}
