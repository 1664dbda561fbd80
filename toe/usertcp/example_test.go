package usertcp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/netip"

	"github.com/rddp/rddp/toe/usertcp"
)

// Two Stacks of one process are joined by a link in memory.
func ExamplePipe() {
	x, y := usertcp.Pipe(1500)
	near, err := usertcp.New(x, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err != nil {
		log.Fatal(err)
	}
	defer near.Close()
	far, err := usertcp.New(y, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if err != nil {
		log.Fatal(err)
	}
	defer far.Close()
	l, err := far.Listen(context.Background(), "tcp", "10.0.0.2:7174")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	c, err := near.Dial(context.Background(), "tcp", "10.0.0.2:7174")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "hello")
	c.CloseWrite()
	s, err := l.Accept()
	if err != nil {
		log.Fatal(err)
	}
	b, err := io.ReadAll(s)
	fmt.Printf("%s %v; an FPDU of %d bytes fits a segment\n", b, err, c.EMSS())
	// Output: hello <nil>; an FPDU of 1420 bytes fits a segment
}
