package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// TestRendezvousHostilePeer: if a peer breaks the rules of offer, grant, done and cancel, its
// connection ends, and the Read that has granted its memory says so. Memory outside the grant does
// not change.
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
		{"done of what no Write has brought", true, number(3, n)},
		{"done of one octet that no Write has brought", true, number(3, 1)},
		{"the end of the stream before that of the offer", true, []byte{0, 1, 0, 0}},
		{"data inside the offer", true, []byte{0, 0, 0, 0, 'x'}},
		{"data and the end of the stream inside the offer", true, []byte{0, 1, 0, 0, 'x'}},
		{"more data inside the offer than the Read has room for", true, data(n + 1)},
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
			bubble(t, func(t *testing.T) {
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
				if err := <-read; !errors.Is(err, syscall.EPROTO) {
					t.Errorf("Read = %v, want EPROTO", err)
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

// TestRendezvousDoneOfAHole: all bytes that Read returns have come from the peer. A peer may say
// that it has filled the grant although it has left bytes out. Without a check, the program would
// take what was in its buffer before for the peer's data: bytes of another connection, if the
// buffer comes from a pool.
func TestRendezvousDoneOfAHole(t *testing.T) {
	const n = 40_000
	type write struct{ from, to int }
	for _, tt := range []struct {
		desc   string
		writes []write
		done   uint32
		ok     bool
	}{
		{"all in one Write", []write{{0, n}}, n, true},
		{"in three Writes", []write{{0, 1}, {1, 30_000}, {30_000, n}}, n, true},
		{"less than was granted", []write{{0, 100}}, 100, true},
		{"a Write of nothing", []write{{0, 100}, {0, 0}, {100, 200}}, 200, true},
		{"the first octet is missing", []write{{1, n}}, n, false},
		{"the last octet is missing", []write{{0, n - 1}}, n, false},
		{"one in the middle is missing", []write{{0, 20_000}, {20_001, n}}, n, false},
		{"as many octets, some of them twice", []write{{0, n / 2}, {0, n / 2}}, n, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawStreamPair(t, extsock.Config{}, 32)
				memory := bytes.Repeat([]byte{0xaa}, n)
				type result struct {
					n   int
					err error
				}
				read := make(chan result, 1)
				go func() {
					n, err := c.Read(memory)
					read <- result{n, err}
				}()
				synctest.Wait()
				h := p.grantFor(1, n)
				for _, w := range tt.writes {
					header := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: h.STag, TO: h.TO + uint64(w.from)}
					p.send(append(header.AppendTo(nil), bytes.Repeat([]byte{'w'}, w.to-w.from)...)...)
				}
				p.segment(2, 0, true, binary.BigEndian.AppendUint32([]byte{3, 0, 0, 0}, tt.done)...)
				got := <-read
				switch {
				case tt.ok && (got.n != int(tt.done) || got.err != nil || !bytes.Equal(memory[:got.n], bytes.Repeat([]byte{'w'}, got.n))):
					t.Errorf("Read = %d, %v, of which %d octets were written", got.n, got.err, bytes.Count(memory[:got.n], []byte{'w'}))
				case !tt.ok && (got.n != 0 || !errors.Is(got.err, syscall.EPROTO)):
					t.Errorf("Read = %d, %v, want 0 and EPROTO", got.n, got.err)
				}
				p.s.Close()
				c.Close()
				settle()
			})
		})
	}
}

// TestRendezvousGrantsBehindACancel: a grant may cross the cancel of its offer, once.
func TestRendezvousGrantsBehindACancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawStreamPair(t, extsock.Config{Crossover: 32 << 10}, 32)
		p.segment(1, 0, true, 0, 0, 0, 0) // otherwise c may not send its offer
		synctest.Wait()
		c.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := c.Write(make([]byte, 40_000)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write = %d, %v, want a deadline before anything was granted", n, err)
		}
		grant := append([]byte{2, 0, 0, 0}, make([]byte, rdmap.HandleLen)...)
		p.segment(2, 0, true, grant...)
		p.segment(3, 0, true, 0, 0, 0, 0, 'x')
		one := make([]byte, 1)
		if _, err := c.Read(one); err != nil || one[0] != 'x' {
			t.Fatalf("Read behind the first grant = %q, %v", one, err)
		}
		p.segment(4, 0, true, grant...)
		c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(one); !errors.Is(err, syscall.EPROTO) {
			t.Fatalf("Read behind the second grant = %v, want EPROTO", err)
		}
		p.wantStreamEnd()
		p.s.Close()
		c.Close()
		settle()
	})
}
