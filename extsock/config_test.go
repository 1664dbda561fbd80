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

// TestConfigTooLarge: where a Config asks for more buffers, or longer ones, than the capability
// record can state, both ends agree on what they have, and so on whether they have a byte stream.
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
					if i, r := option(t, ci, extsock.DDP_MESSAGES), option(t, cr, extsock.DDP_MESSAGES); i != 0 || r != 0 {
						t.Errorf("DDP_MESSAGES: %d at one end, %d at the other", i, r)
					}
					if got := option(t, ci, extsock.DDP_RECV_SIZE); got != math.MaxInt32 {
						t.Errorf("DDP_RECV_SIZE is %d, want %d", got, math.MaxInt32)
					}
					if got := option(t, ci, extsock.DDP_RECV_DEPTH); depth > 0 && got != math.MaxUint16 {
						t.Errorf("DDP_RECV_DEPTH is %d, want %d", got, math.MaxUint16)
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

// TestConfigNegative: a length, depth or time-out below 0 stands for the default, everywhere in the
// connection.
func TestConfigNegative(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := extsock.Config{
			SendDepth: -1, RecvDepth: -1, RecvSize: -1, HandshakeTimeout: -1, CloseTimeout: -1, PreferTimeout: -1,
			SniffTimeout: -1, WriteTimeout: -1, IdleTimeout: -1, MaxFPDU: -1,
		}
		wire := simtoe.Config{Delay: 100 * time.Millisecond}
		ci, cr := simPair(t, wire, side{cfg: cfg}, side{cfg: cfg})
		depth, size := option(t, ci, extsock.DDP_RECV_DEPTH), option(t, ci, extsock.DDP_RECV_SIZE)
		if depth != 32 || size != 64<<10 {
			t.Errorf("DDP_RECV_DEPTH is %d, DDP_RECV_SIZE is %d, want the defaults", depth, size)
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
