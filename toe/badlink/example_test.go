package badlink_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
)

// A link loses a tenth of the packets in one direction and is slow in both.
func ExamplePipe() {
	slow := badlink.Faults{Rate: 100e6, Delay: time.Millisecond}
	lossy := slow
	lossy.Loss = 0.1
	a, b, err := badlink.Pipe(badlink.Config{Seed: 1, AB: lossy, BA: slow})
	if err != nil {
		fmt.Println(err)
		return
	}
	packet := make([]byte, 1500) // a TCP would write IP packets
	for range 100 {
		a.Write(packet)
	}
	a.Close()
	read := 0
	for {
		if _, err := b.Read(packet); err != nil {
			fmt.Println(err)
			break
		}
		read++
	}
	s := a.Stats()
	fmt.Println(read, "packets were read:", read == int(s.In-s.Lost))
	// Output:
	// EOF
	// 92 packets were read: true
}

// A test unplugs the cable and plugs it in again.
func ExampleFaults_blackHole() {
	var unplugged atomic.Bool
	faults := badlink.Faults{BlackHole: func(uint64, time.Duration) bool { return unplugged.Load() }}
	a, b, err := badlink.Pipe(badlink.Config{AB: faults, BA: faults})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	defer b.Close()
	a.Write([]byte("first"))
	unplugged.Store(true)
	a.Write([]byte("second"))
	unplugged.Store(false)
	a.Write([]byte("third"))
	p := make([]byte, b.MTU())
	for range 2 {
		n, err := b.Read(p)
		fmt.Println(string(p[:n]), err)
	}
	fmt.Println(a.Stats().BlackHoled)
	// Output:
	// first <nil>
	// third <nil>
	// 1
}

// Two hosts with the kernel's TCP are joined by a link that loses and reorders packets. Each host
// is a network namespace of this process. Making one needs privileges.
func ExampleJoin() {
	var hosts [2]*tun.Namespace
	var devices [2]*tun.Device
	for i, address := range []string{"192.168.7.1/24", "192.168.7.2/24"} {
		var err error
		if hosts[i], err = tun.NewNamespace(); err != nil {
			fmt.Println(err)
			return
		}
		defer hosts[i].Close()
		devices[i], err = tun.Open(tun.Config{Namespace: hosts[i], Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer devices[i].Close()
	}
	bad := badlink.Faults{Loss: 0.05, Reorder: 0.1, Duplicate: 0.01}
	link, err := badlink.Join(context.Background(), devices[0], devices[1], badlink.Config{Seed: 1, AB: bad, BA: bad})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer link.Close()
	var l net.Listener
	var c net.Conn
	err = hosts[1].Do(func() (err error) {
		l, err = net.Listen("tcp", "192.168.7.2:7174")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	err = hosts[0].Do(func() (err error) {
		c, err = net.Dial("tcp", "192.168.7.2:7174")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	there, back := link.Stats()
	fmt.Println(c.RemoteAddr(), there.In, back.In)
}
