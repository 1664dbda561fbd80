package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// An arena is a connection under test with its peer behind a proxy.
type arena struct {
	c, peer *extsock.Conn
	raw     net.Conn // the peer's socket, if the peer does not use rddp
	p       *proxy
	ctx     context.Context
	cancel  context.CancelFunc
	limit   time.Duration // until the deadline
}

// A lifeState is the state of a connection when an event happens.
type lifeState struct {
	name      string
	initiator bool
	plain     bool // the peer is a plain socket
	messages  bool
	// enter brings the connection into the state and returns the call that then waits.
	enter func(a *arena) (call func() error, err error)
	// want is the result of that call, by event.
	want map[string]string
}

func readOne(a *arena) func() error {
	return func() error {
		_, err := a.c.Read(make([]byte, 1))
		return err
	}
}

// writeMuch returns a Write of more than a peer that does not read has room for.
func writeMuch(a *arena) func() error {
	return func() error {
		_, err := a.c.Write(make([]byte, 64<<20))
		return err
	}
}

// alike is the row of a state in which each event has its own result.
var alike = map[string]string{"RST": "reset", "FIN": "unexpected EOF", "Terminate": "Terminate", "Close": "closed", "deadline": "deadline"}

// with returns alike with some entries changed.
func with(pairs ...string) map[string]string {
	m := map[string]string{}
	for k, v := range alike {
		m[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

var lifeStates = []lifeState{
	{
		name: "TCP mode, a Read waits", plain: true,
		enter: func(a *arena) (func() error, error) { return readOne(a), nil },
		want:  with("FIN", "EOF", "Terminate", "nil"), // plain octets
	},
	{
		name: "startup, the Initiator waits for the Reply", initiator: true, plain: true,
		enter: func(a *arena) (func() error, error) {
			return func() error { return a.c.EnableDDP(a.ctx, nil) }, nil
		},
		want: with("RST", "no answer", "FIN", "no answer", "Terminate", "not MPA"),
	},
	{
		name: "startup, the Responder waits for the Request", plain: true,
		enter: func(a *arena) (func() error, error) {
			return func() error { return a.c.EnableDDP(a.ctx, nil) }, nil
		},
		want: with("RST", "no answer", "FIN", "no answer", "Terminate", "not MPA"),
	},
	{
		name: "startup, half of the Request has come", plain: true,
		enter: func(a *arena) (func() error, error) {
			_, err := a.raw.Write([]byte("MPA ID Re"))
			return func() error { return a.c.EnableDDP(a.ctx, nil) }, err
		},
		want: with("RST", "no answer", "FIN", "no answer", "Terminate", "not MPA"),
	},
	{
		name: "byte stream, a Read waits", initiator: true,
		enter: func(a *arena) (func() error, error) { return readOne(a), nil },
		want:  alike,
	},
	{
		name: "messages, a Read waits", messages: true,
		enter: func(a *arena) (func() error, error) { return readOne(a), nil },
		want:  with("FIN", "EOF"), // TCP's end is the end of the stream
	},
	{
		name:  "byte stream, a Write waits for credits",
		enter: func(a *arena) (func() error, error) { return writeMuch(a), nil },
		want:  with("FIN", "reset"), // EPIPE: the stream is lost
	},
	{
		name: "messages, a Write waits for TCP", messages: true, initiator: true,
		enter: func(a *arena) (func() error, error) {
			return func() error {
				for {
					if _, err := a.c.Write(make([]byte, 60<<10)); err != nil {
						return err
					}
				}
			}, nil
		},
		want: with("FIN", "waits"), // TCP's half-close: the peer may still read all of it
	},
	{
		name: "an RDMA Read waits", initiator: true,
		enter: func(a *arena) (func() error, error) {
			r, err := a.peer.Register(make([]byte, 64), ddp.RemoteRead)
			a.p.there.mute() // so that it gets no answer
			return func() error {
				_, err := a.c.Remote(r.Handle()).ReadAt(make([]byte, 64), 0)
				return err
			}, err
		},
		want: alike,
	},
	{
		name: "half closed by this end, a Read waits", initiator: true,
		enter: func(a *arena) (func() error, error) { return readOne(a), a.c.CloseWrite() },
		want:  alike,
	},
	{
		name: "half closed by the peer, a Write waits",
		enter: func(a *arena) (func() error, error) {
			if err := a.peer.CloseWrite(); err != nil {
				return nil, err
			}
			if err := readOne(a)(); err != io.EOF {
				return nil, fmt.Errorf("the peer's end: %w", err)
			}
			return writeMuch(a), nil
		},
		want: with("FIN", "reset"),
	},
	{
		name: "Close waits for TCP", messages: true, initiator: true,
		enter: func(a *arena) (func() error, error) {
			a.p.there.hold()
			for {
				a.c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
				if _, err := a.c.Write(make([]byte, 60<<10)); err != nil {
					break
				}
			}
			return func() error { a.c.Close(); return readOne(a)() }, nil
		},
		want: map[string]string{"RST": "closed", "FIN": "closed", "Terminate": "closed", "Close": "closed", "deadline": "closed"},
	},
	{
		name: "failed, its Terminate not answered", initiator: true,
		enter: func(a *arena) (func() error, error) {
			a.p.there.mute()
			if err := a.p.back.inject(framed(ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: 1}.AppendTo(nil), 'x')); err != nil {
				return nil, err
			}
			if err := readOne(a)(); kindOf(err) != "DDP error" {
				return nil, fmt.Errorf("a Write to nowhere gives %w", err)
			}
			return readOne(a), nil
		},
		want: map[string]string{
			"RST": "DDP error", "FIN": "DDP error", "Terminate": "DDP error", "Close": "closed", "deadline": "DDP error",
		},
	},
}

// framed returns one FPDU with a CRC and without markers.
func framed(ulpdu []byte, payload ...byte) []byte {
	return rawpeer.FPDUs(mpa.NewSender(mpa.Agreement{CRC: true}), append(slices.Clone(ulpdu), payload...))
}

// terminate returns an FPDU with a Terminate for a remote peer's catastrophic error.
func terminate() []byte {
	h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: 1}
	return framed(append(h.AppendTo(nil), prototest.Terminate(0x0207)...))
}

// lifeEvents are the events.
var lifeEvents = []struct {
	name string
	do   func(a *arena)
}{
	{"RST", func(a *arena) { a.p.reset() }},
	{"FIN", func(a *arena) { a.p.back.end() }},
	{"Terminate", func(a *arena) { a.p.back.inject(terminate()) }},
	{"Close", func(a *arena) { a.c.Close() }},
	{"deadline", func(a *arena) { a.c.SetDeadline(time.Now().Add(a.limit)); a.cancel() }},
}

// noRequest is the text of the error if the peer closed before its MPA Request was complete.
// Programs see an *mpa.Error with mpa.CodeClosed.
const noRequest = "the peer closed the connection without an MPA Request"

// kindOf returns the class of an error that a program can detect.
func kindOf(err error) string {
	var segment *ddp.Error
	switch {
	case err == nil:
		return "nil"
	case errors.As(err, &segment) && segment.Code != ddp.CodeULP: // in the Terminate that this end has sent
		return "DDP error"
	case errors.As(err, new(*rdmap.TerminateError)):
		return "Terminate"
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.Canceled):
		return "deadline"
	case errors.Is(err, extsock.ErrNoReply), strings.Contains(err.Error(), noRequest):
		return "no answer"
	case errors.Is(err, extsock.ErrNotMPA), errors.Is(err, extsock.ErrBusy): // before or during the call
		return "not MPA"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected EOF"
	case errors.Is(err, rdmap.ErrPeerClosed):
		return "peer closed"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return "reset"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return "another error: " + err.Error()
}

// newArena makes the two ends and the proxy between them.
func newArena(t *testing.T, pairs *socketPairs, s *lifeState) *arena {
	t.Helper()
	x, b, err := pairs.pair()
	if err != nil {
		t.Fatal(err)
	}
	c, y, err := pairs.pair()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &extsock.Config{Messages: s.messages, CloseTimeout: 300 * time.Millisecond, HandshakeTimeout: 2 * time.Minute, Crossover: -1}
	a := &arena{c: extsock.NewConn(x, s.initiator, cfg), p: newProxy(b, c, faults{}, faults{}), raw: y, limit: 10 * time.Millisecond}
	if s.want["deadline"] == "DDP error" { // the result comes at once: if a busy machine begins the call late, the deadline must still be ahead
		a.limit = time.Minute
	}
	a.ctx, a.cancel = context.WithTimeout(context.Background(), 2*time.Minute)
	if s.plain {
		return a
	}
	a.peer = extsock.NewConn(y, !s.initiator, cfg)
	switched := make(chan error, 1)
	go func() { switched <- a.peer.EnableDDP(a.ctx, nil) }()
	if err := errors.Join(a.c.EnableDDP(a.ctx, nil), <-switched); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *arena) close() {
	if a.peer != nil {
		a.peer.Close()
	}
	a.raw.Close()
	a.p.there.release()
	a.p.close()
}

// TestStatesAndEvents lets each event happen in each state. The waiting call returns the error of
// the table, long before startup would give up, and so do Read and Write after it. Close returns,
// and nothing is left.
func TestStatesAndEvents(t *testing.T) {
	pairs := newSocketPairs(t)
	goroutines := runtime.NumGoroutine()
	cells, slowest := 0, time.Duration(0)
	late := 5 * time.Second
	if !testmode.Full { // the machine may be busy
		late = time.Minute
	}
	for i := range lifeStates {
		s := &lifeStates[i]
		for _, event := range lifeEvents {
			t.Run(s.name+": "+event.name, func(t *testing.T) {
				a := newArena(t, pairs, s)
				defer a.cancel()
				call, err := s.enter(a)
				if err != nil {
					t.Fatal(err)
				}
				result := make(chan error, 1)
				go func() { result <- call() }()
				begin := time.Now()
				event.do(a)
				if s.want[event.name] == "waits" {
					select {
					case err := <-result:
						t.Errorf("the call gives %v, want it to wait", err)
					case <-time.After(50 * time.Millisecond):
					}
					cells++
					a.c.Close()
					<-result
					a.close()
					return
				}
				select {
				case err = <-result:
				case <-timeLimit(t).Done():
					t.Fatal("the call does not return")
				}
				elapsed := time.Since(begin)
				slowest = max(slowest, elapsed)
				if got, want := kindOf(err), s.want[event.name]; got != want && (got != "DDP error" || want != "closed") {
					t.Errorf("the call gives %q: %v, want %q", got, err, want)
				}
				if elapsed > late {
					t.Errorf("the call returned after %v", elapsed)
				}
				if err := a.c.Close(); err != nil && !errors.Is(err, net.ErrClosed) && elapsed < late {
					t.Logf("Close: %v", err)
				}
				if err := readOne(a)(); kindOf(err) != "closed" {
					t.Errorf("Read after Close: %v", err)
				}
				if _, err := a.c.Write([]byte("x")); kindOf(err) != "closed" {
					t.Errorf("Write after Close: %v", err)
				}
				a.close()
				cells++
			})
		}
	}
	settled(t, goroutines)
	t.Logf("%d states, %d cells, the slowest call returned after %v", len(lifeStates), cells, slowest)
}
