package tun_test

import (
	"fmt"
	"net/netip"

	"github.com/rddp/rddp/toe/tun"
)

// A device in its own namespace shows the packets that the kernel sends through it.
func ExampleOpen() {
	ns, err := tun.NewNamespace()
	if err != nil {
		fmt.Println(err) // for example: which privilege is missing
		return
	}
	defer ns.Close()
	d, err := tun.Open(tun.Config{Namespace: ns, Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.7.1/24")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	p := make([]byte, d.MTU())
	for {
		n, err := d.Read(p)
		if err != nil {
			return
		}
		fmt.Printf("%x\n", p[:n])
	}
}
