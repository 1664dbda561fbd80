// leak: an rdma_cm id is left
// created: rdma_create_id(
#include <rdma/rdma_cma.h>
#include "check.h"

int main(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct sockaddr_in any = {.sin_family = AF_INET};
	MUST(c && !rdma_create_id(c, &id, NULL, RDMA_PS_TCP));
	MUST(!rdma_bind_addr(id, (struct sockaddr *)&any) && !rdma_listen(id, 1));
	if (!fault)
		MUST(!rdma_destroy_id(id));
	rdma_destroy_event_channel(c);
	return 0;
}
