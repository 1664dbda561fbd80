package netconn_test

import (
	"fmt"
	"net"

	"github.com/rddp/rddp/toe/netconn"
)

// Any net.Conn becomes a Stream.
func ExampleNew() {
	x, y := net.Pipe()
	a, b := netconn.New(x), netconn.New(y)
	defer a.Close()
	defer b.Close()

	go a.WriteBatch([][]byte{[]byte("header "), []byte("payload")})

	// The reader takes a buffer only when there is something to read.
	if err := b.Readable(); err != nil {
		fmt.Println(err)
		return
	}
	buf := make([]byte, 64)
	n, off, err := b.ReadSegment(buf)
	fmt.Printf("%q at offset %d, %v\n", buf[:n], off, err)
	// Output: "header payload" at offset 0, <nil>
}
