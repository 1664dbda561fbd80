package startup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

const minute = time.Minute

// ends returns both ends of a connection: the Initiator's startup, and the Responder's.
func ends(initiator, responder Config) (i, r *Handshake) {
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	initiator.Initiator = true
	return New(a, initiator), New(b, responder)
}

func wantPhase(t *testing.T, who string, h *Handshake, want Phase) {
	t.Helper()
	if got := h.Phase(); got != want {
		t.Errorf("%s: phase %v, want %v", who, got, want)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// begun begins MPA startup at both ends. The Responder has received the Request, and its program
// has not answered it yet.
func begun(t *testing.T, i, r *Handshake, mine mpa.Config) (req *Request, initiated <-chan error, peer *Peer) {
	t.Helper()
	wantErr(t, "Begin", i.Begin(), nil)
	wantPhase(t, "Initiator", i, Requesting)
	wantErr(t, "Begin", r.Begin(), nil)
	wantPhase(t, "Responder", r, Receiving)
	over := make(chan error, 1)
	peer = new(Peer)
	go func() {
		p, _, err := i.Initiate(t.Context(), minute, &mine)
		if p != nil {
			*peer = *p
		}
		over <- err
	}()
	req, err := r.ReceiveRequest(t.Context(), minute)
	wantErr(t, "ReceiveRequest", err, nil)
	wantErr(t, "Ask", r.Ask(req), nil)
	wantPhase(t, "Responder", r, Asked)
	return req, over, peer
}

// TestToDDP: both ends reach DDP mode, and know each other's parameters.
func TestToDDP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, r := ends(Config{Off: true}, Config{Off: true})
		wantPhase(t, "Initiator", i, Plain)
		own := Capabilities{Extensions: true, MaxMessage: 100, Credits: 7}
		req, initiated, peer := begun(t, i, r, mpa.Config{PrivateData: own.WithPrivateData([]byte("hello"))})
		if req.Peer.Capabilities != own || string(req.Peer.PrivateData) != "hello" || !req.Peer.IsRDDP {
			t.Errorf("the Request tells %+v", req.Peer)
		}
		wantErr(t, "Answer with an error", r.Answer(req, ErrBusy), ErrBusy)
		wantPhase(t, "Responder", r, Asked)
		wantErr(t, "Answer to another Request", r.Answer(&Request{}, nil), ErrAnswered)
		wantErr(t, "Answer", r.Answer(req, nil), nil)
		wantPhase(t, "Responder", r, Answering)
		wantErr(t, "Answer again", r.Answer(req, nil), ErrAnswered)
		if _, err := r.Accept(t.Context(), minute, req, &mpa.Config{PrivateData: []byte("foreign")}); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "Initiate", <-initiated, nil)
		if peer.IsRDDP || string(peer.PrivateData) != "foreign" || !peer.Agreement.CRC {
			t.Errorf("the Reply tells %+v", peer)
		}
		for _, h := range []*Handshake{i, r} {
			if h.Switched(nil) {
				t.Error("closed")
			}
			wantPhase(t, "the end", h, DDP)
			wantErr(t, "Err", h.Err(), nil)
			wantErr(t, "Begin", h.Begin(), ErrSwitched)
			if e, err := h.Enter(Reading); !e.DDP || e.Over != nil || err != nil {
				t.Errorf("Enter = %+v, %v", e, err)
			}
			if c := h.Close(); c != CloseDriver {
				t.Errorf("Close = %v, want CloseDriver", c)
			}
			if _, err := h.Enter(Reading); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Enter after Close: %v", err)
			}
			wantErr(t, "Err after Close", h.Err(), net.ErrClosed)
			if c := h.Close(); c != AlreadyClosed {
				t.Errorf("the second Close = %v", c)
			}
		}
	})
}

// TestRejected: after a rejection both ends are plain, with the deadlines of the program, and can
// try again.
func TestRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, r := ends(Config{Off: true}, Config{Off: true})
		old, initiated, _ := begun(t, i, r, mpa.Config{})
		wantErr(t, "SetReadDeadline", i.SetReadDeadline(time.Now().Add(-time.Second)), nil) // not the startup's
		e, err := i.Enter(Reading)
		if err != nil || e.Over == nil || e.Begun {
			t.Errorf("Enter during startup = %+v, %v", e, err)
		}
		wantErr(t, "Answer", r.Answer(old, nil), nil)
		wantErr(t, "Reject", r.Reject(t.Context(), minute, old, &mpa.Config{PrivateData: []byte("no")}), nil)
		rejection := (*mpa.RejectError)(nil)
		if err := <-initiated; !errors.As(err, &rejection) || string(rejection.PrivateData) != "no" {
			t.Errorf("Initiate = %v", err)
		}
		for _, h := range []*Handshake{i, r} {
			if h.NotSwitched(rejection, true) {
				t.Error("a rejection closes the stream")
			}
			wantPhase(t, "the end", h, Plain)
		}
		<-e.Over
		if _, err := i.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read = %v, want the program's deadline", err)
		}
		wantErr(t, "SetReadDeadline", i.SetReadDeadline(time.Time{}), nil)

		_, err = r.Enter(Writing)
		wantErr(t, "Enter", err, nil)
		wantErr(t, "Begin during a Write", r.Begin(), ErrBusy)
		r.Leave(Writing)
		req, initiated, _ := begun(t, i, r, mpa.Config{})
		wantErr(t, "Answer to the old Request", r.Answer(old, nil), ErrAnswered)
		wantErr(t, "Answer", r.Answer(req, nil), nil)
		_, err = r.Accept(t.Context(), minute, req, &mpa.Config{})
		wantErr(t, "Accept", err, nil)
		wantErr(t, "Initiate", <-initiated, nil)
	})
}

// A lastRead is a stream whose last bytes come together with io.EOF.
type lastRead struct {
	toe.Stream
	r io.Reader
}

func (s lastRead) Read(p []byte) (int, error) { return s.r.Read(p) }

// TestReplyWithEOF: a Reply is whole if the end of the stream comes in the same Read as its last
// byte.
func TestReplyWithEOF(t *testing.T) {
	for _, data := range []string{"", "not today"} {
		synctest.Test(t, func(t *testing.T) {
			a, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			reply := mpa.Frame{Reply: true, Reject: true, Revision: 1, PrivateData: []byte(data)}
			i := New(lastRead{a, iotest.DataErrReader(bytes.NewReader(reply.AppendTo(nil)))}, Config{Off: true, Initiator: true})
			wantErr(t, "Begin", i.Begin(), nil)
			_, _, err := i.Initiate(t.Context(), minute, &mpa.Config{Revision: 1})
			if r := (*mpa.RejectError)(nil); !errors.As(err, &r) || string(r.PrivateData) != data {
				t.Errorf("Initiate = %v, want a rejection with %q", err, data)
			}
		})
	}
}

// TestWhoGetsTheError: if a call of the program has begun startup, later calls get net.ErrClosed.
// If not, they get the error of startup. After Close, they get net.ErrClosed.
func TestWhoGetsTheError(t *testing.T) {
	for _, byCall := range []bool{true, false} {
		i, _ := ends(Config{}, Config{})
		later := error(io.ErrNoProgress)
		if byCall {
			wantErr(t, "Begin", i.Begin(), nil)
			later = net.ErrClosed
		} else if e, err := i.Enter(Waiting); !e.Begun || err != nil {
			t.Fatalf("Enter = %+v, %v", e, err)
		}
		if !i.NotSwitched(io.ErrNoProgress, false) {
			t.Error("the stream of a failed startup may stay open")
		}
		wantPhase(t, "Initiator", i, Failed)
		_, err := i.Enter(Reading)
		wantErr(t, "Enter", err, later)
		wantErr(t, "Err", i.Err(), later)
		wantErr(t, "Begin", i.Begin(), later)
		if c := i.Close(); c != AlreadyClosed {
			t.Errorf("Close = %v", c)
		}
		_, err = i.Enter(Reading)
		wantErr(t, "Enter after Close", err, net.ErrClosed)
	}
	i, _ := ends(Config{}, Config{}) // rejected, and no call has got that error: the stream stays open until Close
	if e, err := i.Enter(Waiting); !e.Begun || err != nil {
		t.Fatalf("Enter = %+v, %v", e, err)
	}
	if i.NotSwitched(&mpa.RejectError{}, true) || i.IsClosed() {
		t.Error("a rejection closes the connection")
	}
	rejection := (*mpa.RejectError)(nil)
	if _, err := i.Enter(Reading); !errors.As(err, &rejection) {
		t.Errorf("Enter = %v, want the rejection", err)
	}
	if c := i.Close(); c != CloseStream {
		t.Errorf("Close = %v, want CloseStream", c)
	}
}

// TestTerminating: if this end cannot keep the agreement, calls get the error, unless one has had
// it already.
func TestTerminating(t *testing.T) {
	i, _ := ends(Config{}, Config{})
	_, err := i.Enter(Waiting)
	wantErr(t, "Enter", err, nil)
	i.Switched(io.ErrNoProgress)
	wantPhase(t, "Initiator", i, Terminating)
	_, err = i.Enter(Writing)
	wantErr(t, "Enter", err, io.ErrNoProgress)
	if c := i.Close(); c != CloseDriver {
		t.Errorf("Close = %v, want CloseDriver", c)
	}
	wantErr(t, "Err after Close", i.Err(), net.ErrClosed)

	i, _ = ends(Config{}, Config{})
	wantErr(t, "Begin", i.Begin(), nil)
	i.Switched(io.ErrNoProgress)
	wantPhase(t, "Initiator", i, DDP) // and the driver says why it ends
}

// TestCloseByPhase: what Close leaves to its caller in each phase.
func TestCloseByPhase(t *testing.T) {
	listener := func(h *Handshake) error { return h.BeginForListener() }
	enter := func(h *Handshake) error { _, err := h.Enter(Reading); return err }
	tests := []struct {
		desc  string
		cfg   Config
		begin func(h *Handshake) error
		phase Phase
		want  Closing
	}{
		{"plain", Config{Off: true}, enter, Plain, CloseStream},
		{"nothing has begun", Config{}, func(*Handshake) error { return nil }, Undecided, CloseStream},
		{"waits for the Request", Config{}, enter, Receiving, Interrupt},
		{"waits for the Reply", Config{Initiator: true}, enter, Requesting, Interrupt},
		{"the Listener waits for the Request", Config{}, listener, Receiving, LeaveOpen},
		{"sniffs", Config{Prefer: true}, enter, Sniffing, CloseStream},
		{"the Listener sniffs", Config{Prefer: true}, listener, Sniffing, LeaveOpen},
		{"the Request waits for its answer", Config{}, func(h *Handshake) error {
			return errors.Join(h.Begin(), h.Ask(&Request{}))
		}, Asked, CloseStream},
		{"the Listener answers", Config{}, func(h *Handshake) error {
			r := &Request{}
			return errors.Join(h.BeginForListener(), h.Ask(r), h.Answer(r, nil))
		}, Answering, LeaveOpen},
		{"the Listener is closed", Config{}, func(h *Handshake) error {
			defer h.Disown()
			return h.BeginForListener()
		}, Receiving, Interrupt},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			_, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			h := New(b, tt.cfg)
			if err := tt.begin(h); err != nil {
				t.Fatal(err)
			}
			wantPhase(t, "before", h, tt.phase)
			if got := h.Close(); got != tt.want {
				t.Errorf("Close = %v, want %v", got, tt.want)
			}
			if h.IsGivenUp() != (tt.want != LeaveOpen) {
				t.Errorf("given up: %t", h.IsGivenUp())
			}
		})
	}
}

// TestAskAfterClose: a Request that arrives as the program closes the connection is not passed to
// the program.
func TestAskAfterClose(t *testing.T) {
	_, r := ends(Config{}, Config{})
	wantErr(t, "Begin", r.Begin(), nil)
	r.Close()
	wantErr(t, "Ask", r.Ask(&Request{}), net.ErrClosed)
	if !r.NotSwitched(net.ErrClosed, false) {
		t.Error("nobody closes the stream")
	}
	wantPhase(t, "Responder", r, Failed)
}

// TestUnreadInitiator: unread bytes keep an Initiator from beginning, and are not lost.
func TestUnreadInitiator(t *testing.T) {
	tests := []struct {
		desc  string
		cfg   Config
		enter error
		phase Phase
	}{
		{"DDP mode is required", Config{}, ErrUnread, Undecided},
		{"DDP mode is preferred", Config{Prefer: true}, nil, Plain},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			i, r := ends(tt.cfg, Config{})
			const text = "220 a server that speaks first"
			if _, err := r.stream.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "Begin", i.Begin(), ErrUnread)
			wantPhase(t, "Initiator", i, Undecided)
			_, err := i.Enter(Reading)
			wantErr(t, "Enter", err, tt.enter)
			wantPhase(t, "Initiator", i, tt.phase)
			if want := tt.phase == Plain; (i.Fallback().Reason == NotMPA) != want {
				t.Errorf("Fallback = %+v", i.Fallback())
			}
			r.stream.Close()
			if got, err := io.ReadAll(readerOf{i}); string(got) != text || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

// TestRequestReadAhead: a Look has read the Request ahead, with its private data. Bytes that follow
// it are refused as if they were still in the stream.
func TestRequestReadAhead(t *testing.T) {
	for _, behind := range []string{"", "more"} {
		synctest.Test(t, func(t *testing.T) {
			i, r := ends(Config{}, Config{Off: true})
			request, err := (&mpa.Config{PrivateData: []byte("hello")}).Request()
			wantErr(t, "Request", err, nil)
			sent := append(request.AppendTo(nil), behind...)
			_, err = i.stream.Write(sent)
			wantErr(t, "Write", err, nil)
			_, err = r.Enter(Reading)
			wantErr(t, "Enter", err, nil)
			err = r.Look(make([]byte, 1000), func(data []byte, _ error) (int, bool) { return 0, len(data) == len(sent) })
			wantErr(t, "Look", err, nil)
			r.Leave(Reading)
			wantErr(t, "Begin", r.Begin(), nil)
			req, err := r.ReceiveRequest(t.Context(), minute)
			if e := (*mpa.Error)(nil); behind != "" && (!errors.As(err, &e) || e.Reason != "4 bytes follow the Request") {
				t.Errorf("ReceiveRequest with %q behind the Request: %v", behind, err)
			}
			if behind == "" && (err != nil || string(req.Peer.PrivateData) != "hello") {
				t.Errorf("ReceiveRequest = %+v, %v", req, err)
			}
		})
	}
}

// readerOf reads as a Conn in TCP mode does.
type readerOf struct{ *Handshake }

// TestBounded: startup with a silent peer fails when the context is done or the time-out has
// passed, and the error says what startup was waiting for.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		timeouts := HandshakeTimeouts()
		for _, tt := range []struct {
			ctx  context.Context
			want error
			say  string
			wait time.Duration
		}{
			{canceled, context.Canceled, "context canceled, waiting for the MPA Reply", time.Second},
			{t.Context(), context.DeadlineExceeded, "context deadline exceeded, waiting for the MPA Reply", 3 * time.Second},
			{canceled, context.Canceled, "context canceled", 0},
		} {
			i, _ := ends(Config{}, Config{})
			wantErr(t, "Begin", i.Begin(), nil)
			begin := time.Now()
			_, terminate, err := i.Initiate(tt.ctx, 3*time.Second, &mpa.Config{})
			if !errors.Is(err, tt.want) || err.Error() != tt.say || terminate {
				t.Errorf("Initiate = %v, want %s", err, tt.say)
			}
			if d := time.Since(begin); d != tt.wait {
				t.Errorf("Initiate took %v, want %v", d, tt.wait)
			}
			i.NotSwitched(err, false)
		}
		if n := HandshakeTimeouts() - timeouts; n != 1 {
			t.Errorf("%d time-outs counted, want 1", n)
		}
	})
}

// uncut is a stream whose SetDeadline panics when it is called to end reads and writes.
type uncut struct{ toe.Stream }

func (s uncut) SetDeadline(t time.Time) error {
	if t.Equal(past) {
		panic("in SetDeadline")
	}
	return s.Stream.SetDeadline(t)
}

// TestBoundedAfterAPanic: the context ends startup although SetDeadline of the stream panics.
func TestBoundedAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		i, _ := ends(Config{}, Config{})
		i.stream = uncut{i.stream}
		wantErr(t, "Begin", i.Begin(), nil)
		begin := time.Now()
		_, _, err := i.Initiate(ctx, time.Hour, &mpa.Config{})
		wantErr(t, "Initiate", err, context.DeadlineExceeded)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("Initiate took %v, want 1 s", d)
		}
	})
}

// A frames is a Tap that records the startup frames.
type frames struct {
	sent, received [][]byte
	whole          []bool
}

func (f *frames) Sent(b []byte) { f.sent = append(f.sent, slices.Clone(b)) }
func (f *frames) Received(b []byte, whole bool) {
	f.received, f.whole = append(f.received, slices.Clone(b)), append(f.whole, whole)
}

// TestTapSeesFrames: the Tap sees each frame once, and the part of an incomplete frame that has
// arrived.
func TestTapSeesFrames(t *testing.T) {
	for _, cut := range []int{0, 7, mpa.FrameHeaderLen + 2} {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		tap := &frames{}
		i := New(a, Config{Initiator: true, Tap: tap})
		reply, _, err := mpa.Config{PrivateData: []byte("data")}.Accept(mpa.Frame{Revision: 1})
		if err != nil {
			t.Fatal(err)
		}
		frame := reply.AppendTo(nil)
		if cut > 0 {
			frame = frame[:cut]
		}
		wantErr(t, "Begin", i.Begin(), nil)
		if _, err := b.Write(frame); err != nil {
			t.Fatal(err)
		}
		if err := b.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_, _, err = i.Initiate(t.Context(), minute, &mpa.Config{Revision: 1})
		if cut > 0 {
			wantErr(t, "Initiate", err, ErrNoReply)
		} else {
			wantErr(t, "Initiate", err, nil)
		}
		if len(tap.sent) != 1 || len(tap.received) != 1 || !slices.Equal(tap.received[0], frame) || tap.whole[0] != (cut == 0) {
			t.Errorf("cut at %d: the Tap has seen %q, %q, %t", cut, tap.sent, tap.received, tap.whole)
		}
	}
}
