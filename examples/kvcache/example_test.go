package kvcache_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rddp/rddp/examples/kvcache"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := kvcache.NewServer(1024, nil)
	if err != nil {
		log.Fatal(err)
	}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go server.Serve(l)

	c, err := kvcache.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Set(ctx, "color", []byte("green")); err != nil { // a message to the server
		log.Fatal(err)
	}
	value, err := c.Get(ctx, "color") // an RDMA Read
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", value)
	// Output: green
}
