// leak: an event channel of rdma_cm is left, and librdmacm keeps the device open
// created: rdma_create_event_channel(
#include <rdma/rdma_cma.h>
#include "check.h"

int main(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	int n;
	struct ibv_context **all = rdma_get_devices(&n);
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_cm_id *id;
	MUST(all && n > 0 && c && !rdma_create_id(c, &id, NULL, RDMA_PS_TCP));
	MUST(!rdma_destroy_id(id));
	rdma_free_devices(all);
	if (!fault)
		rdma_destroy_event_channel(c);
	return 0;
}
