package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// copied is a side whose Writes are data of the stream, and never a rendezvous.
var copied = side{cfg: extsock.Config{Crossover: -1, CloseTimeout: time.Second}}

// TestCreditsNeedNoMemory: an end holds as many unread octets as its peer has credits for, and
// there is no memory beyond the fixed allowances. Its own Writes and one-sided operations go on,
// and so do the peer's one-sided operations.
func TestCreditsNeedNoMemory(t *testing.T) {
	alone(t)
	for _, limit := range []int64{extsock.DefaultMemory, 0} {
		t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limitMemory(t, limit)
				ci, cr := simPair(t, simtoe.Config{Delay: time.Millisecond}, copied, copied)
				filled := fillUp(t, cr, 0, 10_000, 4<<20) // until the Write waits: ci's program does not read
				if filled < 60_000 {
					t.Errorf("%d octets were taken without a Read, fewer than TCP would take", filled)
				}
				ri, rr := register(t, ci, make([]byte, 4096), ddp.RemoteRead|ddp.RemoteWrite), register(t, cr, make([]byte, 4096), ddp.RemoteRead|ddp.RemoteWrite)
				read := make(chan error, 1)
				go func() { _, err := io.CopyN(io.Discard, cr, 16_000_000); read <- err }()
				ci.SetDeadline(time.Now().Add(time.Minute))
				cr.SetDeadline(time.Now().Add(time.Minute))
				for sent := 0; sent < 16_000_000; sent += 10_000 {
					if _, err := ci.Write(tapeAt(sent, 10_000)); err != nil {
						t.Fatalf("Write after %d octets: %v", sent, err)
					}
				}
				if err := <-read; err != nil {
					t.Error(err)
				}
				for _, x := range []struct {
					end string
					m   *extsock.RemoteMemory
				}{{"the end that does not read", ci.Remote(rr.Handle())}, {"its peer", cr.Remote(ri.Handle())}} {
					if _, err := x.m.WriteAt([]byte("one-sided"), 8); err != nil {
						t.Errorf("%s: WriteAt: %v", x.end, err)
					}
					got := make([]byte, 9)
					if _, err := x.m.ReadAt(got, 8); err != nil || string(got) != "one-sided" {
						t.Errorf("%s: ReadAt: %q, %v", x.end, got, err)
					}
				}
				if n := ci.Stats().MemoryStalls + cr.Stats().MemoryStalls; n > 0 {
					t.Errorf("%d times there was no reading from TCP", n)
				}
				got := make([]byte, filled)
				if _, err := io.ReadFull(ci, got); err != nil || !bytes.Equal(got, tapeAt(0, filled)) {
					t.Errorf("not the octets that were written: %v", err)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// A duplex is two ends that write, read and use each other's memory, in rounds. In each round one
// end reads nothing before it has written its part and done its operations.
type duplex struct {
	conns   [2]*extsock.Conn
	remotes [2]*extsock.RemoteMemory
	octets  [2]int          // that each end writes in a round
	done    [2]atomic.Int64 // octets that each end has read
	reads   [2]atomic.Int64 // operations that each end has done
}

// round runs one round in which late reads last.
func (d *duplex) round(r *rand.Rand, late int) error {
	var wg sync.WaitGroup
	errs := make(chan error, 6)
	run := func(what string, end int, f func() error) {
		wg.Go(func() {
			if err := f(); err != nil {
				errs <- fmt.Errorf("end %d: %s: %w", end, what, err)
			}
		})
	}
	var wrote [2]sync.WaitGroup
	wrote[late].Add(2)
	for end, c := range d.conns {
		piece, wait := 1+r.IntN(100_000), end == late
		run("Write", end, func() error {
			if wait {
				defer wrote[end].Done()
			}
			for sent := 0; sent < d.octets[end]; {
				n := min(piece, d.octets[end]-sent)
				if _, err := c.Write(tapeAt(sent, n)); err != nil {
					return fmt.Errorf("after %d octets: %w", sent, err)
				}
				sent += n
			}
			return nil
		})
		run("ReadAt", end, func() error {
			if wait {
				defer wrote[end].Done()
			}
			for b := make([]byte, 1000); d.reads[end].Add(1)%8 != 0; {
				if _, err := d.remotes[end].ReadAt(b, 0); err != nil {
					return err
				}
			}
			return nil
		})
		run("Read", end, func() error {
			if wait {
				wrote[end].Wait()
			}
			want := d.octets[1-end]
			b := make([]byte, piece)
			for got := 0; got < want; {
				n, err := c.Read(b[:min(len(b), want-got)])
				if !bytes.Equal(b[:n], tapeAt(got, n)) {
					return fmt.Errorf("not what was written, behind octet %d", got)
				}
				if got += n; err != nil {
					return fmt.Errorf("after %d octets: %w", got, err)
				}
				d.done[end].Add(int64(n))
			}
			return nil
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// TestNoMemory: with SetMemoryLimit(0), two ends that both write, both read, and read one-sided
// make progress for 60 s. In each round one of them, in turn, does not read before TCP has taken
// all that it has written, and meanwhile its peer writes what the credits permit. Without the tag
// conformance the test takes one second.
func TestNoMemory(t *testing.T) {
	alone(t)
	duration := time.Second
	if testmode.Full {
		duration = time.Minute
	}
	for _, crossover := range []int{-1, 0} {
		t.Run(fmt.Sprintf("crossover %d", crossover), func(t *testing.T) {
			limitMemory(t, 0)
			s := side{cfg: extsock.Config{Crossover: crossover, CloseTimeout: time.Second}}
			d := &duplex{}
			d.conns[0], d.conns[1] = tcpPair(t, s, s)
			for i, c := range d.conns {
				d.remotes[1-i] = d.conns[1-i].Remote(register(t, c, pattern(1000, 9), ddp.RemoteRead).Handle())
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			rounds := 0
			for begin := time.Now(); time.Since(begin) < duration/2; rounds++ {
				late := rounds % 2
				d.octets[late], d.octets[1-late] = 2_000_000, 40_000+r.IntN(60_000) // the peer's Writes are over before it reads
				for _, c := range d.conns {
					c.SetDeadline(prototest.Deadline(t))
				}
				if err := d.round(r, late); err != nil {
					t.Fatalf("round %d, in which end %d reads last: %v", rounds, late, err)
				}
			}
			for i, c := range d.conns {
				if n := c.Stats().MemoryStalls; n > 0 {
					t.Errorf("end %d: %d times there was no reading from TCP", i, n)
				}
				c.Close()
			}
			t.Logf("%d rounds; the ends have read %d and %d octets, and done %d and %d RDMA Reads", rounds,
				d.done[0].Load(), d.done[1].Load(), d.reads[0].Load(), d.reads[1].Load())
			prototest.Wait(t, "all memory is given back", func() bool { return extsock.MemoryReserved() == 0 })
		})
	}
}

// TestMemoryIsUsedUpByOthers: unread data of other connections takes all memory. Connections that
// begin before or after that still make progress.
func TestMemoryIsUsedUpByOthers(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 4<<20)
		early := &duplex{}
		early.conns[0], early.conns[1] = simPair(t, simtoe.Config{}, copied, copied)
		var others []*extsock.Conn
		for i := range 8 {
			s := copied
			s.cfg.Messages = i >= 4
			ci, cr := simPair(t, simtoe.Config{}, s, s)
			go func() {
				for b := make([]byte, 60_000); ; {
					if _, err := ci.Write(b); err != nil {
						return
					}
				}
			}()
			others = append(others, ci, cr)
		}
		synctest.Wait()
		if extsock.MemoryReserved() < 1<<20 {
			t.Errorf("only %d octets are reserved", extsock.MemoryReserved())
		}
		extsock.SetMemoryLimit(extsock.MemoryReserved()) // and this is all there is
		later := &duplex{}
		later.conns[0], later.conns[1] = simPair(t, simtoe.Config{}, copied, copied)
		for _, d := range []*duplex{early, later} {
			for i, c := range d.conns {
				d.remotes[1-i] = d.conns[1-i].Remote(register(t, c, pattern(1000, 9), ddp.RemoteRead).Handle())
				c.SetDeadline(time.Now().Add(time.Hour))
			}
			r := rand.New(rand.NewPCG(1, 2))
			for late := range d.conns {
				d.octets[late], d.octets[1-late] = 2_000_000, 80_000
				if err := d.round(r, late); err != nil {
					t.Errorf("end %d reads last: %v", late, err)
				}
			}
		}
		for _, c := range append(others, early.conns[0], early.conns[1], later.conns[0], later.conns[1]) {
			c.Close()
		}
		settle()
	})
}

// TestCloseWhileAMessageWaits: when Close is called, a message waits for memory, and the program
// has read everything before it. Close does not wait in vain for a queued Read, which goes out when
// the answer to an earlier one, behind that message, has arrived.
func TestCloseWhileAMessageWaits(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 0)
		stalled := make(stallLog)
		ci, cr := simPair(t, simtoe.Config{}, inMessages, side{cfg: extsock.Config{Messages: true, ORD: 1, Trace: slog.New(stalled)}})
		from := register(t, ci, make([]byte, 8), ddp.RemoteRead).Handle()
		sent := make(chan error, 1)
		go func() {
			var err error
			for range 2 { // the allowance is for one
				_, e := ci.Write(make([]byte, 60_000))
				err = errors.Join(err, e)
			}
			sent <- err
		}()
		<-stalled
		if n, err := cr.Read(make([]byte, 60_000)); n != 60_000 || err != nil {
			t.Errorf("Read = %d, %v", n, err)
		}
		for range 3 {
			if err := postRead(cr, from, make([]byte, 8)); err != nil {
				t.Error(err)
			}
		}
		closed := make(chan error, 1)
		go func() { closed <- cr.Close() }()
		synctest.Wait() // Close waits
		close(stalled)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

// A stallLog is a slog.Handler that stops the goroutine whose message waits for memory. It sends a
// value when that goroutine calls it for the first time, and lets the goroutine go on when the
// channel is closed.
type stallLog chan struct{}

func (s stallLog) Enabled(context.Context, slog.Level) bool { return true }
func (s stallLog) WithGroup(string) slog.Handler            { return s }
func (s stallLog) WithAttrs([]slog.Attr) slog.Handler       { return s }

func (s stallLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "rddp: memory limit" {
		select {
		case <-s: // closed
		default:
			s <- struct{}{}
			<-s
		}
	}
	return nil
}
