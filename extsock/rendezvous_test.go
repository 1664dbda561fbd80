package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// alwaysOffers is a side whose long Writes all begin with an offer.
func alwaysOffers(depth int) side {
	return side{cfg: extsock.Config{Crossover: 32 << 10, RecvDepth: depth}}
}

// TestRendezvousMixed: both ends write at once, short and long, with and without offers, and each
// reads in another goroutine, with various numbers of buffers.
func TestRendezvousMixed(t *testing.T) {
	total := 64 << 20
	if testmode.Slow() {
		total = 8 << 20
	}
	if testing.Short() {
		total = 2 << 20
	}
	for _, depth := range []int{4, 5, 7, 32} {
		t.Run(fmt.Sprintf("depth %d", depth), func(t *testing.T) {
			ci, cr := tcpPair(t, alwaysOffers(depth), alwaysOffers(depth))
			errs := make(chan error, 4)
			for seed, c := range []*extsock.Conn{ci, cr} {
				go func() { errs <- writeMixed(c, total, uint64(seed)) }()
				go func() { errs <- readMixed(c, total, uint64(1-seed)) }()
			}
			for range 4 {
				select {
				case err := <-errs:
					if err != nil {
						t.Error(err)
					}
				case <-timeLimit(t).Done():
					t.Fatal("it has come to a standstill")
				}
			}
		})
	}
}

// writeMixed writes total octets of the sequence of seed, in pieces of all sizes.
func writeMixed(c net.Conn, total int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	src := rand.NewChaCha8([32]byte{byte(seed)})
	for total > 0 {
		n := min(total, 1+r.IntN(1<<r.IntN(22)))
		p := make([]byte, n)
		src.Read(p)
		if _, err := c.Write(p); err != nil {
			return err
		}
		total -= n
	}
	return nil
}

func readMixed(c net.Conn, total int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	src := rand.NewChaCha8([32]byte{byte(seed)})
	for total > 0 {
		p := make([]byte, min(total, 1+r.IntN(1<<r.IntN(22))))
		n, err := c.Read(p)
		if err != nil {
			return err
		}
		want := make([]byte, n)
		src.Read(want)
		if !bytes.Equal(p[:n], want) {
			return fmt.Errorf("with %d octets to go the stream has something else", total)
		}
		total -= n
	}
	return nil
}

// TestRendezvousDeadlines: whichever end gives up first, and whenever it does, it gets exact
// counts, has its memory back and can go on.
func TestRendezvousDeadlines(t *testing.T) {
	for seed := range uint64(testmode.Rounds(100, 8)) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			wire := simtoe.Config{Seed: seed, Window: 1 << (12 + r.IntN(8)), Delay: time.Duration(r.IntN(5)) * time.Millisecond}
			a, b := simtoe.Pair(wire, wire)
			ci, cr := switched(t, a, b, alwaysOffers(4+r.IntN(8)), alwaysOffers(4+r.IntN(8)))
			const total = 3 << 20
			want := make([]byte, total)
			rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(want)
			done := make(chan error, 1)
			go func() {
				for at := 0; at < total; {
					p := bytes.Clone(want[at:min(total, at+1+r.IntN(1<<20))])
					if r.IntN(2) == 0 {
						ci.SetWriteDeadline(time.Now().Add(time.Duration(r.IntN(30)) * time.Millisecond))
					} else {
						ci.SetWriteDeadline(time.Time{})
					}
					n, err := ci.Write(p)
					clear(p)
					at += n
					if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
						done <- err
						return
					}
				}
				done <- ci.CloseWrite()
			}()
			rr := rand.New(rand.NewPCG(seed, 4))
			var got []byte
			for {
				p := make([]byte, 1+rr.IntN(1<<20))
				if rr.IntN(2) == 0 {
					cr.SetReadDeadline(time.Now().Add(time.Duration(rr.IntN(30)) * time.Millisecond))
				} else {
					cr.SetReadDeadline(time.Time{})
				}
				n, err := cr.Read(p)
				got = append(got, p[:n]...)
				clear(p)
				if err == io.EOF {
					break
				}
				if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if rr.IntN(3) == 0 {
					time.Sleep(time.Duration(rr.IntN(20)) * time.Millisecond)
				}
			}
			if err := <-done; err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("seed %d: %d octets read differ from the %d written", seed, len(got), len(want))
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestRendezvousInParts: the RDMA Writes of one rendezvous, of a mebibyte each, find room in the
// send queue only one by one, and each places its bytes behind those of the previous one.
func TestRendezvousInParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		i := alwaysOffers(0)
		i.cfg.SendDepth = 2
		ci, cr := simPair(t, simtoe.Config{}, i, alwaysOffers(0))
		want := bytes.Repeat(tapeAt(0, 1<<20-1), 5) // no piece is like another
		written := make(chan error, 1)
		go func() {
			synctest.Wait() // until the Read waits
			_, err := ci.Write(want)
			written <- err
		}()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(cr, got); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		if !bytes.Equal(got, want) {
			t.Error("Read got something else than was written")
		}
		if n := ci.Stats().RendezvousOctets; n != uint64(len(want)) {
			t.Errorf("%d octets went by rendezvous, want %d", n, len(want))
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestRendezvousAfterHalfClose: an end that writes no more still grants memory.
func TestRendezvousAfterHalfClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, alwaysOffers(0), alwaysOffers(0))
		if err := cr.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := ci.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("Read = %d, %v", n, err)
		}
		go func() {
			synctest.Wait() // until the Read waits
			ci.Write(make([]byte, 1<<20))
		}()
		if _, err := io.ReadFull(cr, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if n := ci.Stats().RendezvousOctets; n == 0 {
			t.Error("nothing went by rendezvous")
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestRendezvousEnds: whichever call ends the stream in the middle of a rendezvous, Read gets
// exactly what Write has counted before the end, and no call hangs.
func TestRendezvousEnds(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		end     func(ci, cr *extsock.Conn) error
		writing error
		reading error
	}{
		{"the writer closes", func(ci, _ *extsock.Conn) error { return ci.Close() }, net.ErrClosed, io.EOF},
		{"the writer half-closes", func(ci, _ *extsock.Conn) error { return ci.CloseWrite() }, syscall.EPIPE, io.EOF},
		{"the reader closes", func(_, cr *extsock.Conn) error { return cr.Close() }, syscall.EPIPE, net.ErrClosed},
	} {
		for _, at := range []time.Duration{500, 1500, 2500, 3500, 7500} { // ms; a grant is there after 2 s
			t.Run(fmt.Sprintf("%s after %d ms", tt.desc, at), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					wire := simtoe.Config{Delay: time.Second, Window: 64 << 10}
					a, b := simtoe.Pair(wire, wire)
					long := extsock.Config{Crossover: 32 << 10, CloseTimeout: time.Hour}
					ci, cr := switched(t, a, b, side{cfg: long}, side{cfg: long})
					type result struct {
						n   int
						err error
					}
					wrote, read := make(chan result, 1), make(chan result, 1)
					go func() { n, err := ci.Write(make([]byte, 1<<20)); wrote <- result{n, err} }()
					go func() { n, err := io.Copy(io.Discard, readerOf{cr, 1 << 20}); read <- result{int(n), err} }()
					time.Sleep(at * time.Millisecond)
					if err := tt.end(ci, cr); err != nil {
						t.Error(err)
					}
					w, r := <-wrote, <-read
					if !errors.Is(w.err, tt.writing) {
						t.Errorf("Write = %d, %v, want %v", w.n, w.err, tt.writing)
					}
					if tt.reading == io.EOF && (r.err != nil || r.n != w.n) || tt.reading != io.EOF && !errors.Is(r.err, tt.reading) {
						t.Errorf("%d octets written, %d read, %v", w.n, r.n, r.err)
					}
					ci.Close()
					cr.Close()
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}

// readerOf reads with buffers of one length.
type readerOf struct {
	c net.Conn
	n int
}

func (r readerOf) Read(p []byte) (int, error) { return r.c.Read(p) }

func (r readerOf) WriteTo(w io.Writer) (total int64, err error) {
	p := make([]byte, r.n)
	for {
		n, err := r.c.Read(p)
		total += int64(n)
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return total, err
		}
	}
}

// TestGrantIsBounded: a grant is no longer than 64 MiB, however long the offer and the Read's
// memory are. This bounds the copy at a Read's deadline, and the memory that the connection then
// holds.
func TestGrantIsBounded(t *testing.T) {
	const longest, length = 64 << 20, 80 << 20
	before := extsock.SetMemoryLimit(1 << 30) // does not shorten it
	defer extsock.SetMemoryLimit(before)
	a, b := kernelStreams(t)
	p, c := rawPairOver(t, a, b, extsock.Config{CloseTimeout: time.Second}, longestRecord(64<<10), nil)
	p.segment(1, 0, true, 0, 0, 0, 0, 'g') // opens the fence
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, length)
	read := make(chan error, 1)
	go func() { _, err := c.Read(memory); read <- err }()
	prototest.Wait(t, "the Read waits", func() bool { return extsock.Waiting(c) })
	p.segment(2, 0, true, 1, 0, 0, 0, 0x40, 0, 0, 0) // an offer of 1 GiB
	u, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := rdmap.ParseHandle(u[18+4:])
	if err != nil || h.Len != longest {
		t.Errorf("the grant is of %d octets, %v, want %d", h.Len, err, longest)
	}
	c.SetReadDeadline(time.Now())
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %v", err)
	}
	p.s.Close()
	c.Close()
}

// TestWriteBeyondAGrant: a Write that is longer than the longest grant goes on with another offer,
// and arrives whole.
func TestWriteBeyondAGrant(t *testing.T) {
	const length = 64<<20 + 1<<20
	s := side{cfg: extsock.Config{Crossover: 64 << 10, CloseTimeout: time.Second}}
	ci, cr := tcpPair(t, s, s)
	want := pattern(length, 3)
	wrote := make(chan error, 1)
	got := make([]byte, length)
	read := make(chan error, 1)
	go func() { _, err := io.ReadFull(cr, got); read <- err }()
	prototest.Wait(t, "the Read waits", func() bool { return extsock.Waiting(cr) })
	go func() { _, err := ci.Write(want); wrote <- err }()
	for _, c := range []chan error{wrote, read} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("not the octets that were written")
	}
	ci.Close()
	cr.Close()
}
