package extsock_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestConfigTooLarge: if a Config asks for more buffers, or longer ones, than the capability record
// can state, both ends still agree on the buffers, and so on whether they have a byte stream.
func TestConfigTooLarge(t *testing.T) {
	sizes := []int{math.MaxInt32, math.MaxInt}
	for _, shift := range []int{31, 32, 40} { // beyond an int of 32 bits
		if n := 1 << shift; n > 0 {
			sizes = append(sizes, n, n+100)
		}
	}
	for _, size := range sizes {
		for _, depth := range []int{0, 1 << 16, 1<<16 + 1, math.MaxInt} {
			t.Run(fmt.Sprintf("size %d, depth %d", size, depth), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{RecvSize: size, RecvDepth: depth}}, side{})
					if !ci.ConnectionState().ByteStream || !cr.ConnectionState().ByteStream {
						t.Error("not a byte stream at both ends")
					}
					gotDepth, gotSize := extsock.RecvLimits(ci)
					if gotSize != math.MaxInt32 {
						t.Errorf("RecvSize means %d, want %d", gotSize, math.MaxInt32)
					}
					if depth > 0 && gotDepth != math.MaxUint16 {
						t.Errorf("RecvDepth means %d, want %d", gotDepth, math.MaxUint16)
					}
					go func() {
						for range 3 {
							cr.Write([]byte("hello")) // the 2nd and 3rd find octets unread in front of them
						}
					}()
					synctest.Wait()
					b := make([]byte, 15)
					for n := 0; n < len(b); {
						k, err := ci.Read(b[n:])
						if err != nil {
							t.Fatal(err)
						}
						n += k
					}
					if string(b) != "hellohellohello" {
						t.Errorf("Read %q", b)
					}
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}

// TestConfigNegative: a length, depth or timeout below 0 means the default, everywhere in the
// connection.
func TestConfigNegative(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := extsock.Config{
			SendDepth: -1, RecvDepth: -1, RecvSize: -1, HandshakeTimeout: -1, CloseTimeout: -1, PreferTimeout: -1,
			SniffTimeout: -1, WriteTimeout: -1, IdleTimeout: -1, MaxFPDU: -1,
		}
		wire := simtoe.Config{Delay: 100 * time.Millisecond}
		ci, cr := simPair(t, wire, side{cfg: cfg}, side{cfg: cfg})
		if depth, size := extsock.RecvLimits(ci); depth != 32 || size != 64<<10 {
			t.Errorf("RecvDepth means %d, RecvSize %d, want the defaults", depth, size)
		}
		// As many requests as the send queue takes have room in the completion queue.
		posted := 0
		for ; posted < 2*128; posted++ {
			if err := postWrite(ci, rdmap.Handle{STag: 1}, nil); err != nil {
				break
			}
		}
		if posted != 128 {
			t.Errorf("%d requests are taken, want %d", posted, 128)
		}
		go func() {
			cr.Write(make([]byte, 1<<20))
			cr.CloseWrite()
		}()
		n := 0
		for b := make([]byte, 64<<10); ; {
			k, err := ci.Read(b)
			if n += k; err != nil {
				break
			}
		}
		if n != 1<<20 {
			t.Errorf("%d octets have come, want %d", n, 1<<20)
		}
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		cr.Close()
		settle()
	})
}
