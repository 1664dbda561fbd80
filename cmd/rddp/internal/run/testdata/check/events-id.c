// events: an event of rdma_cm is not acknowledged, and rdma_destroy_id hangs
// at: rdma_destroy_id(
#include <rdma/rdma_cma.h>
#include "check.h"

int main(int argc, char **argv) {
	MUST(argc == 2);
	fault = !strcmp(argv[1], "fault");
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct rdma_cm_event *e;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	MUST(c && !rdma_create_id(c, &id, NULL, RDMA_PS_TCP));
	MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000));
	MUST(!rdma_get_cm_event(c, &e));
	if (!fault)
		MUST(!rdma_ack_cm_event(e));
	alarm(3);
	MUST(!rdma_destroy_id(id));
	rdma_destroy_event_channel(c);
	return 0;
}
