package apps_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rddp/rddp/extsock"
)

// gRPC with an unchanged service, which is part of gRPC.
func Example_grpc() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)
	defer server.GracefulStop()

	dialer := &extsock.Dialer{Config: cfg}
	client, err := grpc.NewClient("passthrough:///"+l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", addr)
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status)
	// Output: SERVING
}
