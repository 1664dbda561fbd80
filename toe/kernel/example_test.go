package kernel_test

import (
	"context"
	"fmt"

	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/toetest"
)

// The zero Backend dials and listens as package net does.
func ExampleBackend() {
	ctx := context.Background()
	var backend kernel.Backend
	l, err := backend.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	a, err := backend.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()

	if _, err := a.TryWriteBatch([][]byte{[]byte("header "), []byte("payload")}); err != nil {
		fmt.Println(err)
		return
	}
	buf := make([]byte, 64)
	n, off, err := b.ReadSegment(toetest.Into(buf), 0)
	fmt.Printf("%q at offset %d, %v\n", buf[:n], off, err)
	// Output: "header payload" at offset 0, <nil>
}
