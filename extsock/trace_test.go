package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// An eventLog is a slog.Handler that keeps events as "LEVEL message key=value …", without local and
// peer.
type eventLog struct {
	attrs  []slog.Attr
	events *events
}

type events struct {
	mu  sync.Mutex
	all []string
}

func newEventLog() *eventLog { return &eventLog{events: &events{}} }

func (r *eventLog) Enabled(context.Context, slog.Level) bool { return true }
func (r *eventLog) WithGroup(string) slog.Handler            { panic("no groups are used") }

func (r *eventLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &eventLog{append(slices.Clone(r.attrs), attrs...), r.events}
}

func (r *eventLog) Handle(_ context.Context, rec slog.Record) error {
	s := fmt.Sprintf("%v %s", rec.Level, rec.Message)
	addresses := 0
	add := func(a slog.Attr) bool {
		if a.Key == "local" || a.Key == "peer" {
			addresses++
		} else {
			s += " " + a.String()
		}
		return true
	}
	for _, a := range r.attrs {
		add(a)
	}
	rec.Attrs(add)
	if addresses != 2 {
		s += " without its addresses"
	}
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	r.events.all = append(r.events.all, s)
	return nil
}

// has reports whether an event contains s.
func (r *eventLog) has(s string) bool {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	return slices.ContainsFunc(r.events.all, func(e string) bool { return strings.Contains(e, s) })
}

func (r *eventLog) want(t *testing.T, want ...string) {
	t.Helper()
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	if !slices.Equal(r.events.all, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(r.events.all, "\n"), strings.Join(want, "\n"))
	}
}

func TestTraceOfALife(t *testing.T) {
	for _, tt := range []struct {
		desc string
		cfg  extsock.Config
		peer side
		mode string // of reading and writing
	}{
		{"byte stream", extsock.Config{}, side{}, "INFO rddp: byte stream role=initiator send_credits=32 send_size=64746 recv_credits=32 recv_size=65536"},
		{"messages", extsock.Config{Messages: true}, side{cfg: extsock.Config{RecvSize: 1000, RecvDepth: 9}},
			"INFO rddp: messages role=initiator send_credits=9 send_size=1000 recv_credits=32 recv_size=65536"},
		{"application", extsock.Config{RecvCQ: extsock.NewCompletionQueue(32)}, side{}, "INFO rddp: application receives role=initiator"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newEventLog()
				tt.cfg.Trace = slog.New(r)
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: tt.cfg}, tt.peer)
				startCapture(t, newCapture(t, io.Discard), ci)
				extsock.StopCapture(ci)
				ci.Close()
				cr.Close()
				settle()
				r.want(t,
					"INFO rddp: DDP mode role=initiator revision=2 enhanced=true crc=true tx_markers=false rx_markers=false ird=16 ord=16 "+
						"peer_ird=16 peer_ord=16 peer_to_peer=false rtr=none rddp=true extensions=true large_fpdus=true emss=1448",
					tt.mode,
					"INFO rddp: capture starts role=initiator",
					"INFO rddp: capture stops role=initiator",
					`INFO rddp: connection ends role=initiator by=local`,
					"DEBUG rddp: closed role=initiator")
			})
		})
	}
}

// A heldLog is an eventLog that stays in the event "DDP mode" until it may go on.
type heldLog struct {
	*eventLog
	goOn <-chan struct{}
}

func (h heldLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return heldLog{h.eventLog.WithAttrs(attrs).(*eventLog), h.goOn}
}

func (h heldLog) Handle(ctx context.Context, rec slog.Record) error {
	if rec.Message == "rddp: DDP mode" {
		<-h.goOn
	}
	return h.eventLog.Handle(ctx, rec)
}

// TestTraceOfTheSwitchIsFirst: calls that go on as soon as the connection is in DDP mode do not
// call the handler themselves, and their events come after those of the switch, even if the handler
// is slow.
func TestTraceOfTheSwitchIsFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		goOn := make(chan struct{})
		h := heldLog{newEventLog(), goOn}
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := extsock.NewConn(a, true, &extsock.Config{Trace: slog.New(h)}), extsock.NewConn(b, false, nil)
		switched := make(chan error, 1)
		go func() { switched <- switchBoth(t.Context(), ci, cr) }()
		settle()
		ci.Close()
		cr.Close()
		settle()
		h.want(t)
		close(goOn)
		if err := <-switched; err != nil {
			t.Error(err)
		}
		settle()
		h.events.mu.Lock()
		defer h.events.mu.Unlock()
		order := ""
		for _, e := range h.events.all {
			_, e, _ = strings.Cut(e, "rddp: ")
			e, _, _ = strings.Cut(e, " role=")
			order += e + "; "
		}
		if want := "DDP mode; byte stream; connection ends; closed; "; order != want {
			t.Errorf("the events are %swant %s", order, want)
		}
	})
}

// TestTraceOfATerminate: the trace shows a Terminate, here for an RDMA Write to memory that is not
// registered.
func TestTraceOfATerminate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg, peers := extsock.Config{}, extsock.Config{}
		r, p := newEventLog(), newEventLog()
		cfg.Trace, peers.Trace = slog.New(r), slog.New(p)
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: cfg}, side{cfg: peers})
		// TCP takes it, but the Terminate may come before WriteAt knows that.
		_, err := ci.Remote(rdmap.Handle{STag: 1, Len: 8}).WriteAt(make([]byte, 8), 0)
		if err != nil && !errors.As(err, new(*rdmap.TerminateError)) {
			t.Fatal(err)
		}
		settle()
		const words = `layer=DDP type=DDP tagged buffer error code=invalid STag`
		r.events.wantLine(t, "WARN rddp: Terminate received role=initiator "+words)
		r.events.wantLine(t, "WARN rddp: connection ends role=initiator by=failure err=")
		p.events.wantLine(t, "WARN rddp: Terminate sent role=responder "+words+" err=")
		p.events.wantLine(t, "WARN rddp: connection ends role=responder by=failure err=")
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestTraceOfStartups: the trace shows startups that fail, one because the peer does not speak MPA,
// one because its program rejects the connection.
func TestTraceOfStartups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newEventLog()
		cfg := &extsock.Config{Trace: slog.New(r)}
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, cfg)
		go func() {
			b.Read(make([]byte, 1))
			b.Write([]byte("220 mail.example ESMTP"))
		}()
		if err := c.EnableDDP(t.Context(), nil); err == nil {
			t.Error("no error")
		}
		b.Close()
		r.events.wantLine(t, "WARN rddp: no DDP mode role=initiator err=")

		x, y := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := extsock.NewConn(x, true, cfg), extsock.NewConn(y, false, nil)
		done := make(chan error, 1)
		go func() { done <- ci.EnableDDP(t.Context(), nil) }()
		request, err := cr.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := request.Reject(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if <-done == nil {
			t.Error("no error of a rejected startup")
		}
		r.events.wantLine(t, "INFO rddp: rejected role=initiator err=")
		ci.Close()
		cr.Close()
	})
}

// TestTracePeersClose: the peer's orderly close is no failure.
func TestTracePeersClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newEventLog()
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{cfg: extsock.Config{Trace: slog.New(r)}})
		ci.Close()
		settle()
		cr.Close()
		settle()
		r.events.wantLine(t, "INFO rddp: connection ends role=responder by=peer")
	})
}

// wantLine checks that exactly one event begins with begin.
func (e *events) wantLine(t *testing.T, begin string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, s := range e.all {
		if strings.HasPrefix(s, begin) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d events begin %q, want 1; there are\n%s", n, begin, strings.Join(e.all, "\n"))
	}
}
