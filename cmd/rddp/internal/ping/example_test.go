package ping_test

import (
	"context"
	"fmt"
	"os"

	"github.com/rddp/rddp/cmd/rddp/internal/ping"
)

func Example() {
	ctx := context.Background()
	s, err := ping.Listen("127.0.0.1:0", &ping.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()

	sum, err := ping.Client(ctx, s.Addr().String(), &ping.Config{Count: 2, Size: 30, Validate: true, Verbose: true, Out: os.Stdout})
	fmt.Println(sum.Pings, "pings", err, <-served)
	// Output:
	// ping data: rdma-ping-0: ABCDEFGHIJKLMNOP
	// ping data: rdma-ping-1: BCDEFGHIJKLMNOPQ
	// 2 pings <nil> <nil>
}
