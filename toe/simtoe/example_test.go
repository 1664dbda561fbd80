package simtoe_test

import (
	"context"
	"fmt"

	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

// The stream has two runs of five bytes, and the second run is also shown early.
func ExamplePair() {
	a, b := simtoe.Pair(simtoe.Config{MaxSegment: 5, Early: 1}, simtoe.Config{})
	defer a.Close()
	defer b.Close()
	a.Write([]byte("firstthen!"))
	buf := make([]byte, 64)
	for range 3 {
		n, off, err := toetest.ReadSegment(b, buf)
		fmt.Printf("%q at offset %d, %v\n", buf[:n], off, err)
	}
	// Output:
	// "then!" at offset 5, <nil>
	// "first" at offset 0, <nil>
	// "then!" at offset 5, <nil>
}

// A Network can replace any other toe.Backend.
func ExampleNetwork() {
	ctx := context.Background()
	network := simtoe.New(simtoe.Config{Seed: 1, Split: true})
	l, err := network.Listen(ctx, "tcp", "server:7174")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	a, err := network.Dial(ctx, "tcp", "server:7174")
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
	fmt.Println(b.LocalAddr(), b.RemoteAddr())
	// Output: server:7174 sim:49152
}
