package extsock_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/simtoe"
)

// endedUnread returns a connection that has ended in this way, with unread data of its peer.
// Nothing but the caller closes it.
func endedUnread(t *testing.T, messages bool, how simtoe.CutHow) *extsock.Conn {
	t.Helper()
	cfg := &extsock.Config{Messages: messages, Crossover: -1, MaxFPDU: 5000, CloseTimeout: time.Second}
	a, b := simtoe.Pair(simtoe.Config{CutAfter: 900_000, CutHow: how}, simtoe.Config{}) // in the middle of an FPDU and of a message
	ci, cr := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
	if err := switchBoth(t.Context(), ci, cr); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for err := error(nil); err == nil; {
			_, err = ci.Write(make([]byte, 50_000))
		}
	}()
	<-wrote
	ci.Close()
	settle()
	if extsock.IsLive(cr) {
		t.Fatal("the connection has not ended")
	}
	return cr
}

// checkUnread checks that the budget counts what c has unread beyond its allowance, and nothing
// else.
func checkUnread(t *testing.T, when string, c *extsock.Conn, messages bool) {
	t.Helper()
	const step = 64 << 10 // in which the budget counts
	least := int64(512 << 10)
	if messages {
		least = 128 << 10 // with one message
	}
	unread, counted := extsock.Unread(c), idleMemory()
	if reserved := extsock.MemoryReserved(); reserved != counted {
		t.Errorf("%s %d bytes are in use, and %d are reserved", when, counted, reserved)
	}
	if counted < unread-least || counted > max(unread-least, 0)+2*step {
		t.Errorf("%s %d bytes are unread, and %d of them count", when, unread, counted)
	}
}

// TestMemoryOfEnded: unread data of a connection that ends stays counted until Reads take it, Close
// discards it, or the garbage collector frees it. Other memory is given back at once.
func TestMemoryOfEnded(t *testing.T) {
	alone(t)
	for _, messages := range []bool{false, true} {
		for _, how := range []simtoe.CutHow{simtoe.RST, simtoe.FIN} {
			for _, last := range []string{"Reads", "Close", "Close with SetLinger(0)", "Close after half of it", "CloseRead and Close"} {
				t.Run(fmt.Sprintf("messages %t, %v, %s", messages, how, last), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						limitMemory(t, 64<<20)
						c := endedUnread(t, messages, how)
						if n := extsock.Unread(c); n < 800_000 {
							t.Fatalf("%d bytes are unread", n)
						}
						checkUnread(t, "after the end", c, messages)
						switch last {
						case "Reads":
							n, err := io.Copy(writerOnly{io.Discard}, readerOnly{c})
							if n < 800_000 || err == nil {
								t.Errorf("Read %d bytes, and then %v", n, err)
							}
							checkUnread(t, "after the Reads", c, messages)
							if held, _ := extsock.Held(c); held != 0 || extsock.MemoryReserved() != 0 {
								t.Errorf("%d bytes are held in front of Close, and %d reserved", held, extsock.MemoryReserved())
							}
						case "Close after half of it":
							if n, err := io.ReadFull(c, make([]byte, 400_000)); err != nil {
								t.Errorf("Read = %d, %v", n, err)
							}
							checkUnread(t, "after half of it", c, messages)
						case "CloseRead and Close":
							c.CloseRead()
						case "Close with SetLinger(0)":
							c.SetLinger(0)
						}
						c.Close()
						settle()
						if n := extsock.MemoryReserved(); n != 0 {
							t.Errorf("%d bytes are still reserved", n)
						}
					})
				})
			}
		}
	}
}

// A readerOnly has no WriteTo, and a writerOnly no ReadFrom.
type (
	readerOnly struct{ io.Reader }
	writerOnly struct{ io.Writer }
)

// TestMemoryOfDropped: if the program drops a connection without Close, the budget gets back the
// memory of its unread data.
func TestMemoryOfDropped(t *testing.T) {
	alone(t)
	limitMemory(t, 64<<20)
	for _, messages := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			endedUnread(t, messages, simtoe.RST)
			if extsock.MemoryReserved() == 0 {
				t.Error("nothing is reserved for what is unread")
			}
		})
		prototest.Wait(t, "the budget has everything back", func() bool {
			runtime.GC()
			return extsock.MemoryReserved() == 0
		})
	}
}

// TestMemoryOfBacklog: connections that are not accepted hold at most the allowances of the
// backlog's seats and the limit, however many peers come, fill their windows and reset.
func TestMemoryOfBacklog(t *testing.T) {
	alone(t)
	const limit, least = 8 << 20, 512 << 10
	bubble(t, func(t *testing.T) {
		limitMemory(t, limit)
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupRequire, CloseTimeout: time.Second})
		cfg := &extsock.Config{Backend: n, Crossover: -1, CloseTimeout: time.Second}
		dial := func() (*extsock.Conn, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", l.Addr().String())
		}
		come := 0
		for range extsock.BacklogSize + 10 {
			c, err := dial()
			if err != nil { // there is no seat
				continue
			}
			come++
			c.SetWriteDeadline(time.Now().Add(time.Second))
			for err == nil {
				_, err = c.Write(make([]byte, 50_000))
			}
			c.SetLinger(0)
			c.Close()
		}
		settle()
		if come < extsock.BacklogSize {
			t.Errorf("%d peers came", come)
		}
		checkReserved(t, limit)
		held, count := int64(0), 0
		for {
			l.SetDeadline(time.Now().Add(time.Second))
			c, err := l.AcceptDDP()
			if err != nil {
				break
			}
			n, _ := extsock.Held(c)
			held += n
			if count++; count <= extsock.BacklogSize {
				defer c.Close()
			} else {
				c.Close()
			}
		}
		if held < extsock.BacklogSize*least/2 || held > extsock.BacklogSize*least+limit {
			t.Errorf("%d connections of the backlog held %d bytes", count, held)
		}
		l.Close()
	})
}
