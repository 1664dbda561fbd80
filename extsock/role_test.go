package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// untilTrusted is a number of exchanges after which a Read is trusted to come back soon. While no
// Read is under way, no goroutine then reads from the stream, and none is woken by what arrives.
const untilTrusted = 300

// echo answers every message until the peer closes.
func echo(c *extsock.Conn) error {
	p := make([]byte, 1<<16)
	for {
		n, err := c.Read(p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := c.Write(p[:n]); err != nil {
			return err
		}
	}
}

// pingPong exchanges messages so quickly that the waiters receive for themselves.
func pingPong(c *extsock.Conn, count int) error {
	p, q := make([]byte, 8), make([]byte, 8)
	for i := range count {
		copy(p, fmt.Sprintf("%08d", i))
		if _, err := c.Write(p); err != nil {
			return err
		}
		if n, err := c.Read(q); err != nil || !bytes.Equal(q[:n], p) {
			return errors.Join(err, fmt.Errorf("sent %q, got %q", p, q[:n]))
		}
	}
	return nil
}

// TestWaitersReceive: one connection has quick messages, one-sided operations of the peer between
// them, and many calls that wait at once.
func TestWaitersReceive(t *testing.T) {
	ci, cr := tcpPair(t, side{}, side{})
	memory := pattern(1<<16, 1)
	r := register(t, ci, memory, ddp.RemoteRead|ddp.RemoteAtomic)
	var all sync.WaitGroup
	all.Go(func() {
		if err := echo(cr); err != nil {
			t.Error(err)
		}
	})
	var readers sync.WaitGroup
	for range 3 { // the peer reads our memory all the while
		readers.Go(func() {
			p := make([]byte, len(memory))
			for range 100 {
				if _, err := cr.Remote(r.Handle()).ReadAt(p, 0); err != nil || !bytes.Equal(p, memory) {
					t.Errorf("ReadAt during the exchange: %v", err)
					return
				}
			}
		})
	}
	if err := pingPong(ci, 5000); err != nil {
		t.Error(err)
	}
	readers.Wait()
	ci.Close()
	all.Wait()
}

// TestOneSidedWhileNobodyWaits: after quick messages the program does something else, and the
// peer's Reads are still answered.
func TestOneSidedWhileNobodyWaits(t *testing.T) {
	ci, cr := tcpPair(t, side{}, side{})
	r := register(t, ci, pattern(1000, 1), ddp.RemoteRead)
	go echo(cr)
	for range 20 {
		if err := pingPong(ci, 50); err != nil {
			t.Fatal(err)
		}
		cr.SetReadDeadline(prototest.Deadline(t))
		if _, err := cr.Remote(r.Handle()).ReadAt(make([]byte, 1000), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInterruptedWaiter: a Read that receives for itself obeys a deadline that is set meanwhile,
// and Close. After the deadline the connection is still usable.
func TestInterruptedWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		served := make(chan error, 1)
		go func() { served <- echo(cr) }()
		for range 3 {
			if err := pingPong(ci, 20); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			time.AfterFunc(time.Second, func() { ci.SetReadDeadline(time.Now().Add(time.Second)) })
			if _, err := ci.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read under a deadline set meanwhile: %v", err)
			}
			if d := time.Since(begin); d != 2*time.Second {
				t.Errorf("Read gave up after %v, want 2s", d)
			}
			ci.SetReadDeadline(time.Time{})
		}
		if err := pingPong(ci, 20); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { ci.Close() })
		if _, err := ci.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read at Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("the peer saw %v", err)
		}
		cr.Close()
		settle()
	})
}

// TestReadUnderADeadlineReceives: a Read under a deadline receives for itself like any other Read,
// and ends when the deadline passes. Afterwards the connection is still usable.
func TestReadUnderADeadlineReceives(t *testing.T) {
	for _, s := range []side{{}, inMessages} {
		t.Run(fmt.Sprintf("messages %t", s.cfg.Messages), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, s, s)
				defer settle()
				defer cr.Close()
				defer ci.Close()
				go echo(cr)
				for range 3 {
					begin := time.Now()
					ci.SetReadDeadline(begin.Add(time.Second))
					if err := pingPong(ci, 20); err != nil {
						t.Fatal(err)
					}
					// If an answer comes before its Read, the home goroutine keeps the role until
					// it has served a Read that waits, such as this one.
					time.AfterFunc(time.Millisecond, func() { ci.Write(make([]byte, 8)) })
					if _, err := ci.Read(make([]byte, 8)); err != nil {
						t.Fatal(err)
					}
					read := make(chan error, 1)
					go func() {
						_, err := ci.Read(make([]byte, 1))
						read <- err
					}()
					synctest.Wait()
					if !extsock.Driving(ci) {
						t.Error("the Read does not receive for itself")
					}
					if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("Read = %v, want a timeout", err)
					}
					if d := time.Since(begin); d != time.Second {
						t.Errorf("the deadline passed after %v, want 1s", d)
					}
				}
			})
		})
	}
}

// TestWaiterSeesTheEnd: the peer closes, or vanishes, while a Read receives for itself.
func TestWaiterSeesTheEnd(t *testing.T) {
	for _, how := range []string{"close", "reset"} {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := switched(t, a, b, side{}, side{})
			go echo(cr)
			if err := pingPong(ci, 20); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() {
				if how == "close" {
					cr.Close()
				} else {
					b.Close()
				}
			})
			_, err := ci.Read(make([]byte, 1))
			if err == nil || how == "close" && err != io.EOF {
				t.Errorf("%s: Read = %v", how, err)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestStalledWaiter: a Read that receives for itself does not wait for buffers that only Reads can
// free.
func TestStalledWaiter(t *testing.T) {
	ci, cr := tcpPair(t, side{cfg: extsock.Config{Messages: true, RecvDepth: 2, RecvSize: 100}}, side{})
	go echo(cr)
	if err := pingPong(ci, 50); err != nil {
		t.Fatal(err)
	}
	const burst = 200
	p := make([]byte, 100)
	for round := range 10 {
		go func() {
			for range burst {
				ci.Write(p[:50])
			}
		}()
		for i := range burst {
			ci.SetReadDeadline(time.Time{})
			if n, err := ci.Read(make([]byte, 100)); n != 50 || err != nil {
				t.Fatalf("round %d message %d: %d, %v", round, i, n, err)
			}
		}
	}
}

// moved counts how often the read deadline of a Stream is set.
type moved struct {
	toe.Stream
	n atomic.Int32
}

func (m *moved) SetReadDeadline(t time.Time) error {
	m.n.Add(1)
	return m.Stream.SetReadDeadline(t)
}

// TestWriteDeadlineLeavesTheReader: a write deadline does not wake a Read that receives for itself.
func TestWriteDeadlineLeavesTheReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		m := &moved{Stream: a}
		ci, cr := switched(t, m, b, side{}, side{})
		go io.Copy(struct{ io.Writer }{cr}, struct{ io.Reader }{cr})
		if err := pingPong(ci, 50); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		for tries := 0; ; tries++ { // a message that was there before the Read waited leaves the role to the home goroutine
			go func() { _, err := ci.Read(make([]byte, 1)); read <- err }()
			synctest.Wait()
			if extsock.Driving(ci) {
				break
			}
			if tries == 100 {
				t.Fatal("no Read receives for itself")
			}
			if _, err := ci.Write([]byte{1}); err != nil { // its echo ends the Read
				t.Fatal(err)
			}
			if err := <-read; err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			desc string
			set  func(time.Time) error
			want bool
		}{{"write", ci.SetWriteDeadline, false}, {"read", ci.SetReadDeadline, true}} {
			before := m.n.Load()
			if err := tt.set(time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := m.n.Load() != before; got != tt.want {
				t.Errorf("the Read is woken by a %s deadline: %t", tt.desc, got)
			}
		}
		ci.Close()
		<-read
		cr.Close()
		settle()
	})
}

// TestCloseWhileAReadReceives: if a Read has the receive role, Close interrupts it. Receiving is
// still bounded afterwards: the connection ends after CloseTimeout, although the peer never sends
// its FIN.
func TestCloseWhileAReadReceives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const closeTimeout = time.Second
		p, c := rawStreamPair(t, extsock.Config{RecvDepth: 6, RecvSize: 1024, CloseTimeout: closeTimeout}, 32)
		read, got := make(chan error, 1), make(chan int, 1)
		go func() {
			for b := make([]byte, 100); ; {
				n, err := c.Read(b)
				if err != nil {
					read <- err
					return
				}
				got <- n
			}
		}()
		for i := range uint32(30) { // quick messages, until the Read receives for itself
			synctest.Wait() // a Read that comes after its message leaves the role where it is
			p.segment(1+i, 0, true, 0, 0, 0, 0, 'g')
			<-got
		}
		synctest.Wait()
		if !extsock.Driving(c) {
			t.Fatal("the Read does not receive for itself")
		}
		go c.Close()
		if err := <-read; err == nil {
			t.Error("Read goes on after Close")
		}
		time.Sleep(2 * closeTimeout)
		if extsock.IsLive(c) {
			t.Errorf("the connection is still there %v after Close", 2*closeTimeout)
		}
		p.s.Close()
		settle()
	})
}
