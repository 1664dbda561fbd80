package extsock_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStreamWriteBehindReads: the send queue is full of Reads when a long Write begins. It goes on
// when they are answered.
func TestStreamWriteBehindReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{Delay: time.Second}, side{}, side{cfg: extsock.Config{SendDepth: 4}})
		r := register(t, ci, make([]byte, 64), ddp.RemoteRead)
		post(t, cr, 4, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 64), Remote: r.Handle()})
		cr.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := cr.Write(tapeAt(0, 20_000)); n != 20_000 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		if _, err := readTape(ci, 0, 20_000, newLengths(1, 9000)); err != nil {
			t.Error(err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestStreamEndBehindReads: Sends complete only after the Reads that were posted before them, so
// all places for messages are taken when the end of the stream is due. The end goes out when the
// Reads are answered.
func TestStreamEndBehindReads(t *testing.T) {
	for writes := range 14 {
		bubble(t, func(t *testing.T) {
			// The answers take long, and messages that free credits come between them.
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{Delay: time.Second, Window: 10_000})
			ci, cr := switched(t, a, b, side{}, side{cfg: extsock.Config{RecvDepth: 6, RecvSize: 512}})
			r := register(t, cr, make([]byte, 1<<20), ddp.RemoteRead)
			read := make(chan error, 1)
			go func() {
				cr.SetReadDeadline(time.Now().Add(time.Hour))
				got, err := readTape(cr, 0, -1, newLengths(1, 1000))
				if got != 300*writes {
					err = errors.Join(err, errors.New("octets are missing"))
				}
				read <- err
			}()
			post(t, ci, 16, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 1<<20), Remote: r.Handle()})
			for i := range writes {
				if _, err := ci.Write(tapeAt(300*i, 300)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond) // so that each Write is a message of its own
			}
			if err := ci.CloseWrite(); err != nil {
				t.Error(err)
			}
			if err := <-read; err != nil {
				t.Errorf("%d Writes: %v", writes, err)
			}
			if err := ci.Close(); err != nil {
				t.Errorf("%d Writes: %v", writes, err)
			}
			cr.Close()
			settle()
		})
	}
}

// echoFirst answers count messages of 8 octets.
func echoFirst(c *extsock.Conn, count int) error {
	p := make([]byte, 8)
	for range count {
		if _, err := io.ReadFull(c, p); err != nil {
			return err
		}
		if _, err := c.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// TestStreamWriteInAVacantRole: a Read that has received for itself leaves the role vacant, and its
// program begins a long Write. The credits that the Write needs are received at once.
func TestStreamWriteInAVacantRole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const total = 10 << 20
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		served := make(chan error, 1)
		go func() {
			err := echoFirst(cr, 50)
			if err == nil {
				_, err = readTape(cr, 0, total, newLengths(1, 1<<17))
			}
			served <- err
		}()
		if err := pingPong(ci, 50); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := writeTape(ci, 0, total, newLengths(2, 1<<20)); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > 0 {
			t.Errorf("the Write waited for a timer of %v", d)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestStreamCloseLetsAWaiterGo: Close must wait for TCP, but a Read that receives for itself
// returns at once.
func TestStreamCloseLetsAWaiterGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr, g := gatedPair(t, extsock.Config{})
		go echoFirst(cr, 50)
		if err := pingPong(ci, 50); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { _, err := ci.Read(make([]byte, 8)); read <- err }()
		synctest.Wait()
		g.shut()
		wrote := make(chan error, 1)
		go func() { _, err := ci.Write(make([]byte, 100_000)); wrote <- err }()
		synctest.Wait()
		begin := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- ci.Close() }()
		if err := <-read; !errors.Is(err, net.ErrClosed) || time.Since(begin) > 0 {
			t.Errorf("Read ended after %v with %v", time.Since(begin), err)
		}
		if err := <-closed; err == nil {
			t.Error("Close = nil, and the peer has taken nothing")
		}
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("Close took %v", d)
		}
		if err := <-wrote; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write = %v", err)
		}
		g.open()
		cr.Close()
		settle()
	})
}
