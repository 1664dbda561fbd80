package driver

import "testing"

// TestOctetsBeyond2GiB: the count of octets does not depend on the size of an int, however the
// stream tells how far it has come.
func TestOctetsBeyond2GiB(t *testing.T) {
	var d Driver
	d.rx.count = &d.count
	for edge := uint64(1000); edge < 1<<40; edge *= 7 {
		d.rx.countArrived(0, edge)
		if n := d.count.Received.Octets.Load(); n != edge {
			t.Fatalf("%d octets of %d", n, edge)
		}
		d.rx.countArrived(edge, edge+500)
		if n := d.count.Received.Octets.Load(); n != edge+500 {
			t.Fatalf("%d octets of %d", n, edge+500)
		}
		d.rx.countArrived(edge+1000, edge+1700) // behind a gap
		if n := d.count.Received.Octets.Load(); n != edge+500 || d.rx.waiting != 700 {
			t.Fatalf("%d octets of %d, %d wait", n, edge+500, d.rx.waiting)
		}
	}
}
