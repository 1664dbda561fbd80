package badlink_test

import (
	"testing"

	"github.com/rddp/rddp/toe/badlink"
)

// TestAllocations: a packet costs no allocation, whatever happens to it.
func TestAllocations(t *testing.T) {
	segment := flows()["IPv4"].segment(t, make([]byte, 1000), nil)
	for _, test := range []struct {
		desc   string
		faults badlink.Faults
		packet []byte
	}{
		{"no fault, short", badlink.Faults{}, segment},
		{"no fault, 64 KiB", badlink.Faults{}, numbered(0, 65535)},
		{"every fault", badlink.Faults{
			Loss: 0.1, Burst: badlink.Burst{Enter: 0.1, Leave: 0.5, Loss: 0.5}, Corrupt: 0.1, CorruptRepaired: 0.1, Duplicate: 0.1,
			Split: 0.5, Merge: 0.5, Reorder: 0.2, Rate: 100e9, Delay: 1, Jitter: 1, Queue: 1 << 20,
		}, segment},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{MTU: 65535, AB: test.faults})
			p := make([]byte, 65535)
			var failed error
			send := func() {
				if _, err := a.Write(test.packet); err != nil {
					failed = err
				}
				for a.Stats().Waiting > 20 || test.faults.Rate == 0 && a.Stats().Waiting > 0 {
					if _, err := b.Read(p); err != nil {
						failed = err
					}
				}
			}
			for range 1000 { // the pools fill
				send()
			}
			if n := testing.AllocsPerRun(1000, send); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
			if failed != nil {
				t.Error(failed)
			}
		})
	}
}
