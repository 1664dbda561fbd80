package extsock_test

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// takeReceiveRole makes Reads of c take the receive role.
func takeReceiveRole(t *testing.T, c, peer *extsock.Conn) {
	t.Helper()
	one := make([]byte, 1)
	for range 2 * untilTrusted { // some Reads find the byte there already
		go peer.Write(one)
		if _, err := c.Read(one); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShortReadsOfLongMessages: Reads that are shorter than the messages get most of the bytes from
// the receive buffer, without a copy in between, and the stream is unchanged.
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

// TestRestOfAMessage: the rest of a message that a Read leaves in the receive buffer is there for a
// late Read, also after CloseRead, because it has arrived; or Close discards it.
func TestRestOfAMessage(t *testing.T) {
	for name, f := range map[string]func(t *testing.T, ci, cr *extsock.Conn, rest []byte){
		"late": func(t *testing.T, ci, cr *extsock.Conn, rest []byte) {
			time.Sleep(time.Second) // the alarm has called home
			if held := extsock.Unread(cr); held < int64(len(rest)) {
				t.Errorf("the memory of %d bytes counts as %d", len(rest), held)
			}
			got := make([]byte, len(rest))
			if _, err := io.ReadFull(cr, got); err != nil || !bytes.Equal(got, rest) {
				t.Errorf("%v, or other bytes", err)
			}
		},
		"at the end of the stream": func(t *testing.T, ci, cr *extsock.Conn, rest []byte) {
			ci.CloseWrite()
			got, err := io.ReadAll(cr)
			if err != nil || !bytes.Equal(got, rest) {
				t.Errorf("%d bytes of %d, %v", len(got), len(rest), err)
			}
		},
		"after CloseRead": func(t *testing.T, ci, cr *extsock.Conn, rest []byte) {
			cr.CloseRead()
			if got, err := io.ReadAll(cr); err != nil || !bytes.Equal(got, rest) {
				t.Errorf("%d bytes of %d, %v", len(got), len(rest), err)
			}
			for range 100 { // the credits come back
				if _, err := ci.Write(make([]byte, 60_000)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"Close": func(t *testing.T, ci, cr *extsock.Conn, rest []byte) {
			cr.Close()
			if _, err := ci.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("the peer of a Close with unread data reads %v, want a reset", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
				defer closeBoth([2]*extsock.Conn{ci, cr})
				takeReceiveRole(t, cr, ci)
				message := pattern(60_000, 5)
				go ci.Write(message)
				n, err := cr.Read(make([]byte, 1000))
				if err != nil {
					t.Fatal(err)
				}
				f(t, ci, cr, message[n:])
				synctest.Wait()
				if held := extsock.Unread(cr); held != 0 {
					t.Errorf("%d bytes count as unread at the end", held)
				}
			})
		})
	}
}

// TestCloseAfterAPause: a message that has waited in a pause, and then stayed in the receive buffer
// until Reads have taken all of it, is not unread data. The peer gets the answer, and no reset.
func TestCloseAfterAPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := side{cfg: extsock.Config{Crossover: -1}}
		c, peer := simPair(t, simtoe.Config{}, s, s)
		defer settle()
		defer peer.Close()
		takeReceiveRole(t, c, peer)
		const header, body = 16, 10_000
		for _, n := range []int{header, body} {
			if _, err := peer.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(21 * time.Microsecond) // the next message does not join this one
			synctest.Wait()
		}
		for _, n := range []int{header, body / 2, body / 2} { // the body pauses, then stays, then is over
			if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got, err := io.ReadAll(peer); err != nil || string(got) != "answer" {
			t.Errorf("the peer reads %q, %v", got, err)
		}
	})
}
