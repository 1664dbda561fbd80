// gids: the first GID is taken for that of a certain address
#include "../check/check.h"

int main(int argc, char **argv) {
	open_device(argc, argv);
	const unsigned char want[4] = {127, 0, 0, 1};
	struct ibv_port_attr port;
	MUST(!ibv_query_port(ctx, 1, &port));
	int index = 0;
	for (; index < port.gid_tbl_len; index++) {
		MUST(!ibv_query_gid(ctx, 1, index, &gid));
		if (fault || !memcmp(gid.raw + 12, want, 4))
			break;
	}
	MUST(!memcmp(gid.raw + 12, want, 4));
	close_device();
	return 0;
}
