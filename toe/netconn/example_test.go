package netconn_test

import (
	"fmt"
	"net"

	"github.com/rddp/rddp/toe/netconn"
)

// A lender takes a buffer when there is something to read, and has none while the Stream waits.
type lender struct{ buf []byte }

func (l *lender) Lend() []byte {
	l.buf = make([]byte, 64)
	return l.buf
}

func (l *lender) TakeBack() (kept bool) {
	l.buf = nil
	return false
}

// Any net.Conn becomes a Stream.
func ExampleNew() {
	x, y := net.Pipe()
	a, b := netconn.New(x), netconn.New(y)
	defer a.Close()
	defer b.Close()

	// The send buffer takes the bytes although nobody reads.
	if _, err := a.TryWriteBatch([][]byte{[]byte("header "), []byte("payload")}); err != nil {
		fmt.Println(err)
		return
	}
	l := &lender{}
	n, off, err := b.ReadSegment(l, 0)
	fmt.Printf("%q at offset %d, %v\n", l.buf[:n], off, err)
	// Output: "header payload" at offset 0, <nil>
}
