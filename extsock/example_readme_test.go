package extsock_test

import (
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// The code of docs/features.md and docs/bad-network.md. A test in conformance/apps compares the two.

//lint:file-ignore SA4006 preferDDP ignores an error, as the document does

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

// preferDDP is the shortest way to port a program: an option on each side.
func preferDDP() {
	cfg := &extsock.Config{Startup: extsock.StartupPrefer} // DDP mode if the peer supports it, otherwise plain TCP
	l, err := extsock.Listen("tcp", ":7174", cfg)          // one port serves both kinds of peer
	c, err := extsock.Dial("tcp", "host:7174", cfg)        // c.ConnectionState() reports which it is, and why
	_, _, _ = l, c, err
}

var _, _ = overTUN, preferDDP // they need a privilege or a host
