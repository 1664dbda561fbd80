package sockets_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// The code of docs/bad-network.md. A test in conformance/lab/apps compares the two.

// Two TCPs of this process echo over a link that loses, reorders and delays packets.
func Example_badNetwork() {
	bad := badlink.Faults{Loss: 0.02, Reorder: 0.1, Delay: time.Millisecond}
	x, y, err := badlink.Pipe(badlink.Config{Seed: 1, AB: bad, BA: bad})
	if err != nil {
		log.Fatal(err)
	}
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
	l, err := extsock.Listen("tcp", "10.0.0.2:7174", &extsock.Config{Backend: far, Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	c, err := extsock.Dial("tcp", "10.0.0.2:7174", &extsock.Config{Backend: near, Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	go serve(l, sendBack)
	ask(c, "over a bad network")
	fmt.Println(c.ConnectionState().ReceivesMarkers) // FPDUs behind a gap can be found and placed
	// Output:
	// over a bad network
	// true
}

// overTUN connects a TCP of this process with a service of the kernel's TCP.
func overTUN() {
	device, err := tun.Open(tun.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}) // the kernel's address
	if err != nil {
		log.Fatal(err) // if a privilege is missing, the error names it
	}
	stack, err := usertcp.New(device, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}})
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close() // closes the device too
	// A program on the kernel's side listens at 10.9.0.1:7174.
	c, err := extsock.Dial("tcp", "10.9.0.1:7174", &extsock.Config{Backend: stack, Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	ask(c, "from user space")
}

var _ = overTUN // it needs a privilege

// serve gives each connection to f.
func serve(l net.Listener, f func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // l was closed
		}
		go f(c)
	}
}

// sendBack is the service: an echo.
func sendBack(c net.Conn) {
	defer c.Close()
	io.Copy(c, c)
}

// ask sends a question and prints the answer, which is as long.
func ask(c net.Conn, question string) {
	if _, err := io.WriteString(c, question); err != nil {
		log.Fatal(err)
	}
	answer := make([]byte, len(question))
	if _, err := io.ReadFull(c, answer); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", answer)
}
