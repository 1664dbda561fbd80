package extsock_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// TestRendezvousHostilePeer: a peer that breaks the rules of offer, grant, done and cancel ends its connection, and the
// Read that has lent its memory says so. Nothing outside what was granted changes.
func TestRendezvousHostilePeer(t *testing.T) {
	const n = 40_000
	number := func(kind byte, n uint32) []byte {
		return []byte{kind, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	}
	for _, tt := range []struct {
		desc    string
		granted bool // an offer of n octets has been granted
		message []byte
	}{
		{"done of one octet more than was granted", true, number(3, n+1)},
		{"done of 2^32-1 octets", true, number(3, 1<<32-1)},
		{"done of nothing", true, number(3, 0)},
		{"a second offer", true, number(1, n)},
		{"done that is cut", true, []byte{3, 0, 0, 0, 0, 0}},
		{"cancel with octets behind it", true, number(4, 0)},
		{"done without an offer", false, number(3, 1)},
		{"cancel without an offer", false, []byte{4, 0, 0, 0}},
		{"an offer of nothing", false, number(1, 0)},
		{"an offer that is cut", false, []byte{1, 0, 0, 0, 1}},
		{"a grant without an offer", false, append([]byte{2, 0, 0, 0}, make([]byte, rdmap.HandleLen)...)},
		{"a grant that is cut", false, append([]byte{2, 0, 0, 0}, make([]byte, rdmap.HandleLen-1)...)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, c := rawStreamPair(t, extsock.Config{}, 32)
				memory, untouched := bytes.Repeat([]byte{0xaa}, n+2), bytes.Repeat([]byte{0xaa}, n+2)
				read := make(chan error, 1)
				go func() {
					_, err := c.Read(memory[1 : 1+n])
					read <- err
				}()
				synctest.Wait()
				msn := uint32(1)
				if tt.granted {
					p.grantFor(msn, n)
					msn++
				}
				p.segment(msn, 0, true, tt.message...)
				p.wantStreamEnd()
				if err := <-read; !errors.Is(err, extsock.ErrStream) {
					t.Errorf("Read = %v, want ErrStream", err)
				}
				if !bytes.Equal(memory, untouched) {
					t.Error("memory has changed")
				}
				p.s.Close()
				c.Close()
				settle()
			})
		})
	}
}
