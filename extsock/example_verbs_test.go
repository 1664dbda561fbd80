package extsock_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/rddp/rddp/extsock"
)

// pipe returns two connections in DDP mode, over a net.Pipe.
func pipe(clientConfig, serverConfig *extsock.Config) (client, server *extsock.Conn) {
	a, b := net.Pipe()
	client, server = extsock.NewConn(a, true, clientConfig), extsock.NewConn(b, false, serverConfig)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switched := make(chan error, 1)
	go func() { switched <- server.EnableDDP(ctx, nil) }()
	if err := client.EnableDDP(ctx, nil); err != nil {
		log.Fatal(err)
	}
	if err := <-switched; err != nil {
		log.Fatal(err)
	}
	return client, server
}

// Two connections of a server receive into the same few buffers.
func Example_sharedReceiveQueue() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srq, cq := extsock.NewSharedReceiveQueue(4), extsock.NewCompletionQueue(4)
	bufs := make([][]byte, 4)
	for id := range bufs {
		bufs[id] = make([]byte, 64)
		if err := srq.PostRecv(extsock.RecvRequest{ID: uint64(id), Buf: bufs[id]}); err != nil {
			log.Fatal(err)
		}
	}
	low := srq.Arm(2) // an event when fewer than 2 buffers are left
	cfg := &extsock.Config{SRQ: srq, RecvCQ: cq}
	names := map[uint64]string{}
	var clients []*extsock.Conn
	for _, name := range []string{"first", "second"} {
		client, server := pipe(nil, cfg)
		defer client.Close()
		defer server.Close()
		names[server.QPNum()] = name
		clients = append(clients, client)
	}
	for i, c := range []*extsock.Conn{clients[0], clients[1], clients[1]} {
		if _, err := fmt.Fprintf(c, "message %d", i); err != nil {
			log.Fatal(err)
		}
		done, err := cq.Wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", names[done.QPNum], bufs[done.ID][:done.Len])
	}
	<-low
	fmt.Println(srq.Len(), "buffer left")
	// Output:
	// first: message 0
	// second: message 1
	// second: message 2
	// 1 buffer left
}

// A server lends its peer a part of its memory, for reading only, and takes that part back.
func ExampleRegion_Window() {
	client, server := pipe(nil, nil)
	defer client.Close()
	defer server.Close()
	r, err := server.Register([]byte("private public private"), extsock.RemoteRead|extsock.RemoteWrite)
	if err != nil {
		log.Fatal(err)
	}
	w, err := r.Window(8, 6, extsock.RemoteRead)
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, 6)
	if _, err := client.Remote(w.Handle()).ReadAt(p, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", p)
	w.Deregister() // and r is still there
	if _, err := client.Remote(w.Handle()).ReadAt(p, 0); err != nil {
		fmt.Println("not any more")
	}
	// Output:
	// public
	// not any more
}

// One call takes all Completions that are there.
func Example_waitBatch() {
	client, server := pipe(nil, nil)
	defer client.Close()
	defer server.Close()
	r, err := server.Register(make([]byte, 100), extsock.RemoteWrite)
	if err != nil {
		log.Fatal(err)
	}
	var wrs []extsock.WorkRequest
	for id, n := range []int{10, 20, 30} {
		wrs = append(wrs, extsock.WorkRequest{ID: uint64(id), Op: extsock.WorkWrite, Data: make([]byte, n), Remote: r.Handle()})
	}
	if _, err := client.PostBatch(wrs); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	batch := make([]extsock.Completion, 8)
	for left := 3; left > 0; {
		n, err := client.SendCQ().WaitBatch(ctx, batch, false)
		if err != nil {
			log.Fatal(err)
		}
		for _, done := range batch[:n] {
			fmt.Println(done)
		}
		left -= n
	}
	// Output:
	// RDMA Write 0: success, 10 bytes
	// RDMA Write 1: success, 20 bytes
	// RDMA Write 2: success, 30 bytes
}
