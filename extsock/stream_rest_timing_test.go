package extsock_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestShortReadsOfLongMessages: Reads that are shorter than the messages get most of the bytes from
// the receive buffer, without a copy in between, and the stream is as it was written. The share depends
// on which goroutine gets the processor, so on a busy machine it can be smaller.
func TestShortReadsOfLongMessages(t *testing.T) {
	for _, size := range []int{100, 4096, 32 << 10, 60_000} {
		bubble(t, func(t *testing.T) {
			ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
			takeReceiveRole(t, cr, ci)
			before := cr.Stats()
			const total = 2 << 20
			want := pattern(total, 3)
			go func() {
				for p := want; len(p) > 0; p = p[min(len(p), 64<<10):] {
					ci.Write(p[:min(len(p), 64<<10)])
				}
				ci.CloseWrite()
			}()
			var got []byte
			for p := make([]byte, size); ; {
				n, err := cr.Read(p)
				got = append(got, p[:n]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("Reads of %d: %d bytes of %d, or other bytes", size, len(got), total)
			}
			after := cr.Stats()
			if n := after.CopiedOctets - before.CopiedOctets; n > total/4 {
				t.Errorf("Reads of %d: %d bytes were copied twice, %d were not", size, n, after.DirectOctets-before.DirectOctets)
			}
			closeBoth([2]*extsock.Conn{ci, cr})
		})
	}
}
