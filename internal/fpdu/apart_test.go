package fpdu

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/mpa"
)

// TestBatchApart: each FPDU is one entry of the vector, and the bytes are those of another Batch.
func TestBatchApart(t *testing.T) {
	header := bytes.Repeat([]byte{1}, 18)
	for _, markers := range []bool{false, true} {
		a := mpa.Agreement{CRC: true, TxMarkers: markers}
		apart, together := NewBatch(512<<10), NewBatch(512<<10)
		apart.Apart = true
		x, y := NewSender(a), NewSender(a)
		var lens []int
		for _, n := range []int{1, 700, 1400, 9000, 40000} {
			payload := bytes.Repeat([]byte{byte(n)}, n)
			before := x.Off()
			x.Append(apart, false, header, payload[:n/2], payload[n/2:])
			y.Append(together, false, header, payload[:n/2], payload[n/2:])
			lens = append(lens, int(x.Off()-before))
		}
		bufs := apart.Bufs()
		if len(bufs) != len(lens) {
			t.Fatalf("markers %t: %d entries for %d FPDUs", markers, len(bufs), len(lens))
		}
		for i, b := range bufs {
			if len(b) != lens[i] {
				t.Errorf("markers %t: entry %d has %d bytes, the FPDU %d", markers, i, len(b), lens[i])
			}
		}
		if !bytes.Equal(bytes.Join(bufs, nil), bytes.Join(together.Bufs(), nil)) {
			t.Errorf("markers %t: the bytes differ", markers)
		}
	}
}
