// Command first is the program of README.md: a server lends memory, and a client reads it by RDMA.
package main

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/rddp/rddp/extsock"
)

func main() {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	go lend(l, []byte("one-sided"))
	p, err := borrow(context.Background(), l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", p)
}

// lend is the server. It grants one client read access to memory.
func lend(l *extsock.Listener, memory []byte) {
	c, err := l.AcceptDDP()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close() // also takes the memory back
	r, err := c.Register(memory, extsock.RemoteRead)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil { // 16 bytes that name the memory
		log.Fatal(err)
	}
	io.Copy(io.Discard, c) // until the client closes
}

// borrow is the client. It reads the memory, and the server's program takes no part.
func borrow(ctx context.Context, address string) ([]byte, error) {
	c, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	b := make([]byte, 16)
	if _, err := io.ReadFull(c, b); err != nil { // c is a net.Conn
		return nil, err
	}
	h, _, err := extsock.ParseHandle(b)
	if err != nil {
		return nil, err
	}
	p := make([]byte, h.Len)
	_, err = c.Remote(h).ReadAt(p, 0) // an RDMA Read; Remote is an io.ReaderAt and io.WriterAt
	return p, err
}
