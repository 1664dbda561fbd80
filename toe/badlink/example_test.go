package badlink_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/toe/badlink"
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

// A test pulls the cable out and puts it in again.
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
