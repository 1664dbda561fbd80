package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// The messages of these tests: a Read has room for one and a half of them.
const (
	pauseMessage  = 10 << 10
	pauseMessages = 5
	pauseRead     = pauseMessage * 3 / 2
)

// withUnread calls f with an end whose Reads are trusted to come back soon, and for which messages
// have come that no goroutine has received yet.
func withUnread(t *testing.T, f func(t *testing.T, c, peer *extsock.Conn)) {
	bubble(t, func(t *testing.T) {
		s := side{cfg: extsock.Config{Crossover: -1}}
		c, peer := simPair(t, simtoe.Config{}, s, s)
		defer settle()
		defer peer.Close()
		defer c.Close()
		go func() { // the echo, which ends before the messages are written
			p := make([]byte, 8)
			for range untilTrusted {
				io.ReadFull(peer, p)
				peer.Write(p)
			}
		}()
		if err := pingPong(c, untilTrusted); err != nil {
			t.Fatal(err)
		}
		for i := range pauseMessages {
			if i > 0 { // so that the next message does not join this one, but the Read is still quick
				time.Sleep(21 * time.Microsecond)
			}
			if _, err := peer.Write(tapeAt(i*pauseMessage, pauseMessage)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		f(t, c, peer)
	})
}

// fillFromTape fills p from the stream's byte at off, with one Read.
func fillFromTape(t *testing.T, c *extsock.Conn, p []byte, off int) {
	t.Helper()
	if n, err := c.Read(p); n != len(p) || err != nil || !bytes.Equal(p, tapeAt(off, n)) {
		t.Fatalf("Read at %d = %d, %v, want %d bytes of the tape", off, n, err, len(p))
	}
}

// TestReadsGoOnFromTheReceiveBuffer: bytes that do not fit into the memory of a Read wait in the
// receive buffer, and go from there to the memory of the next Read. Each Read fills its memory.
func TestReadsGoOnFromTheReceiveBuffer(t *testing.T) {
	withUnread(t, func(t *testing.T, c, _ *extsock.Conn) {
		before := c.Stats()
		for off := 0; off < pauseMessages*pauseMessage; off += pauseRead {
			fillFromTape(t, c, make([]byte, min(pauseRead, pauseMessages*pauseMessage-off)), off)
		}
		after := c.Stats()
		if n := after.CopiedOctets - before.CopiedOctets; n != 0 {
			t.Errorf("%d bytes were copied twice", n)
		}
		if n := after.Received.FPDUs - before.Received.FPDUs; n != pauseMessages {
			t.Errorf("%d FPDUs were counted, want %d", n, pauseMessages)
		}
	})
}

// TestNobodyGoesOn: the program stops reading. What waits in the receive buffer is still received,
// and the next Read finds it.
func TestNobodyGoesOn(t *testing.T) {
	for name, first := range map[string]int{"between messages": pauseMessage, "in a message": pauseRead} {
		t.Run(name, func(t *testing.T) {
			withUnread(t, func(t *testing.T, c, _ *extsock.Conn) {
				before := c.Stats().Received.FPDUs
				fillFromTape(t, c, make([]byte, first), 0)
				if n := c.Stats().Received.FPDUs - before; n >= pauseMessages {
					t.Fatalf("all %d FPDUs were received at once: the test is about nothing", n)
				}
				time.Sleep(50 * time.Millisecond)
				if n := c.Stats().Received.FPDUs - before; n != pauseMessages {
					t.Errorf("%d FPDUs were received after a while, want %d", n, pauseMessages)
				}
				fillFromTape(t, c, make([]byte, pauseMessages*pauseMessage-first), first)
			})
		})
	}
}

// TestReadWithADeadlineGoesOn: a Read under a deadline also takes bytes from the receive buffer.
func TestReadWithADeadlineGoesOn(t *testing.T) {
	withUnread(t, func(t *testing.T, c, _ *extsock.Conn) {
		fillFromTape(t, c, make([]byte, pauseRead), 0)
		begin := time.Now()
		c.SetReadDeadline(begin.Add(time.Minute))
		p := make([]byte, pauseMessages*pauseMessage-pauseRead)
		if n, err := io.ReadFull(c, p); err != nil || !bytes.Equal(p, tapeAt(pauseRead, n)) {
			t.Errorf("ReadFull = %d, %v, want the other %d bytes", n, err, len(p))
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the Read waited %v", d)
		}
	})
}

// TestCloseWithAPause: bytes in the receive buffer are unread, so Close tells the peer of the loss.
func TestCloseWithAPause(t *testing.T) {
	withUnread(t, func(t *testing.T, c, peer *extsock.Conn) {
		fillFromTape(t, c, make([]byte, pauseMessage), 0)
		c.Close()
		if n, err := peer.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer's Read = %d, %v, want ECONNRESET", n, err)
		}
	})
}
