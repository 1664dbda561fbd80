package extsock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"

	"github.com/rddp/rddp/extsock"
)

// A server lends memory to its peer, which reads it one-sidedly: the server's program takes no
// part.
func Example() {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.AcceptDDP()
		if err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		r, err := c.Register([]byte("one-sided"), extsock.RemoteRead)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
			log.Fatal(err)
		}
		c.Read(make([]byte, 1)) // until the client closes
	}()

	c, err := extsock.Dial("tcp", l.Addr().String(), nil) // plain TCP so far
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1); err != nil { // RDMA from here
		log.Fatal(err)
	}
	b := make([]byte, 16)
	if _, err := c.Read(b); err != nil {
		log.Fatal(err)
	}
	h, _, err := extsock.ParseHandle(b)
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, h.Len)
	if _, err := c.Remote(h).ReadAt(p, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", p)
	// Output: one-sided
}

// A connection is plain TCP until both programs switch it, at a point that their protocol agrees
// on.
func ExampleConn_EnableDDP() {
	a, b := net.Pipe()
	client, server := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	defer client.Close()
	go func() {
		defer server.Close()
		line := make([]byte, 9)
		if _, err := io.ReadFull(server, line); err != nil {
			log.Fatal(err)
		}
		if err := server.EnableDDP(context.Background(), nil); err != nil {
			log.Fatal(err)
		}
		n, err := server.Read(line)
		fmt.Printf("%s, DDP mode: %t, %v\n", line[:n], server.ConnectionState().DDPMode, err)
		server.Write([]byte("thanks"))
	}()
	if _, err := client.Write([]byte("START DDP")); err != nil {
		log.Fatal(err)
	}
	if err := client.EnableDDP(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	if _, err := client.Write([]byte("some more")); err != nil {
		log.Fatal(err)
	}
	client.Read(make([]byte, 6))
	// Output: some more, DDP mode: true, <nil>
}

// Work Requests are posted and complete later; one queue may serve many connections.
func ExampleConn_Post() {
	a, b := net.Pipe()
	client, server := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	defer client.Close()
	defer server.Close()
	memory := make([]byte, 5)
	r, err := server.Register(memory, extsock.RemoteRead|extsock.RemoteWrite)
	if err != nil {
		log.Fatal(err)
	}
	go server.EnableDDP(context.Background(), nil)
	if err := client.EnableDDP(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	back := make([]byte, 5)
	for id, wr := range []extsock.WorkRequest{
		{Op: extsock.WorkWrite, Data: []byte("hello"), Remote: r.Handle()},
		{Op: extsock.WorkRead, Data: back, Remote: r.Handle()},
	} {
		wr.ID = uint64(id)
		if err := client.Post(&wr); err != nil {
			log.Fatal(err)
		}
	}
	for range 2 {
		done, err := client.SendCQ().Wait(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(done)
	}
	fmt.Printf("%s\n", back)
	// Output:
	// RDMA Write 0: success, 5 bytes
	// RDMA Read 1: success, 5 bytes
	// hello
}

// One port serves peers that speak MPA in DDP mode and all others in plain TCP; the program is the
// same for both.
func ExampleDialer() {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupPrefer})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	ours := extsock.Dialer{Config: &extsock.Config{Startup: extsock.StartupPrefer}}
	for _, dial := range []func(ctx context.Context, network, address string) (net.Conn, error){new(net.Dialer).DialContext, ours.DialContext} {
		c, err := dial(context.Background(), "tcp", l.Addr().String())
		if err != nil {
			log.Fatal(err)
		}
		mode := "plain TCP"
		if x, ok := c.(*extsock.Conn); ok && x.ConnectionState().DDPMode {
			mode = "DDP"
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			log.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", mode, b)
		c.Close()
	}
	// Output:
	// plain TCP: hello
	// DDP: hello
}
