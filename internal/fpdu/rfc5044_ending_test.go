package fpdu

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/rddp/rddp/mpa"
)

// A receiver that returns early FPDUs SHOULD "Provide an indication to DDP that the TCP has closed
// or has begun to close the connection (e.g., received a FIN)." Early FPDUs do not make an end
// graceful; only the bytes in order do.
// MPA-5044-3-13, MPA-5044-7.2-2
func TestRFC5044_3_EndWithAGap(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	for n := range len(stream) + 1 {
		s := newSink(true, true)
		s.show(begins[2], stream[begins[2]:], never)
		if len(s.got) != 5 {
			t.Fatalf("%d ULPDUs were shown early, want 5", len(s.got))
		}
		s.feed(stream[:n], 0)
		e := wantCode(t, s.EOF(), mpa.CodeClosed)
		boundary := n == len(stream) || slices.Contains(begins, uint64(n))
		if e.Graceful != boundary || errors.Is(e, io.ErrUnexpectedEOF) == boundary || e.Off > uint64(n) {
			t.Errorf("FIN behind %d octets: %v, graceful %v", n, e, e.Graceful)
		}
	}
}
