package startup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

func requestKey() []byte { k := mpa.Key(false); return k[:] }

// sniffs returns the accepting end of a connection, with its sniff begun, and the peer's stream.
func sniffs(t *testing.T, cfg Config) (h *Handshake, peer toe.Stream) {
	t.Helper()
	cfg.Prefer = true
	if cfg.Timeout == 0 {
		cfg.Timeout = minute
	}
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	h = New(b, cfg)
	if e, err := h.Enter(Reading); !e.Begun || e.Over == nil || err != nil {
		t.Fatalf("Enter = %+v, %v", e, err)
	}
	return h, a
}

// TestSniffChopped: wherever the first bytes are cut, and whatever time lies between the parts, a
// Request is recognized, everything else is plain, and Read gives every byte once.
func TestSniffChopped(t *testing.T) {
	request := mpa.Frame{Revision: 2, PrivateData: []byte("private")}.AppendTo(nil)
	texts := [][]byte{request, []byte("GET / HTTP/1.1\r\n\r\n"), requestKey()[:9], {}}
	for k := range KeyLen { // the key but for one byte
		text := bytes.Clone(request)
		text[k] ^= 1
		texts = append(texts, text)
	}
	for _, text := range texts {
		for cut := range KeyLen + 2 {
			synctest.Test(t, func(t *testing.T) {
				h, peer := sniffs(t, Config{})
				go func() {
					head := text[:min(cut, len(text))]
					peer.Write(head)
					time.Sleep(time.Second)
					peer.Write(text[len(head):])
					peer.CloseWrite()
				}()
				found := h.Sniff()
				isRequest := bytes.HasPrefix(text, requestKey())
				if found.Request != isRequest || (found.Fallback.Reason == PlainPeer) == isRequest || found.Err != nil || found.MustClose {
					t.Errorf("%q cut at %d: %+v", text, cut, found)
				}
				want := Plain
				if isRequest {
					want = Receiving
				}
				wantPhase(t, "after the sniff", h, want)
				if got, err := io.ReadAll(readerOf{h}); !bytes.Equal(got, text) || err != nil {
					t.Errorf("%q cut at %d: Read gives %q, %v", text, cut, got, err)
				}
			})
		}
	}
}

// TestSniffSilence: a peer that sends nothing is plain after SniffTimeout, or a second after a
// Write asks. A peer that has begun to send gets Timeout for the rest.
func TestSniffSilence(t *testing.T) {
	tests := []struct {
		desc  string
		cfg   Config
		begin string // the peer's first bytes
		write bool
		want  time.Duration // until it is plain TCP
	}{
		{"SniffTimeout", Config{SniffTimeout: 5 * time.Second}, "", false, 5 * time.Second},
		{"a Write waits", Config{}, "", true, time.Second},
		{"a Write waits, and SniffTimeout", Config{SniffTimeout: 5 * time.Second}, "", true, 5 * time.Second},
		{"the begin of a key", Config{SniffTimeout: 5 * time.Second, Timeout: 7 * time.Second}, "MPA", false, 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, peer := sniffs(t, tt.cfg)
				begin := time.Now()
				peer.Write([]byte(tt.begin))
				if tt.write {
					if e, err := h.Enter(Writing); e.Over == nil || e.Begun || err != nil {
						t.Errorf("Enter = %+v, %v", e, err)
					}
				}
				found := h.Sniff()
				if found.Fallback.Reason != SniffTimeout {
					t.Errorf("found %+v", found)
				}
				if d := time.Since(begin); d != tt.want {
					t.Errorf("plain after %v, want %v", d, tt.want)
				}
				peer.Close()
				if got, err := io.ReadAll(readerOf{h}); string(got) != tt.begin || err != nil {
					t.Errorf("Read gives %q, %v", got, err)
				}
			})
		})
	}
}

// TestSniffLeavesTheRequest to a program that judges it, or that claims it.
func TestSniffLeavesTheRequest(t *testing.T) {
	t.Run("judged", func(t *testing.T) {
		h, peer := sniffs(t, Config{Judge: true})
		peer.Write(requestKey())
		if found := h.Sniff(); found != (Sniffed{}) {
			t.Errorf("found %+v", found)
		}
		wantPhase(t, "after the sniff", h, Recognized)
		e, err := h.Enter(Reading) // no call of ReceiveRequest
		if !e.Begun || err != nil {
			t.Errorf("Enter = %+v, %v", e, err)
		}
		wantPhase(t, "after Enter", h, Receiving)
	})
	t.Run("claimed", func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		h := New(b, Config{Prefer: true, Timeout: minute})
		over, isBegun, err := h.Claim()
		if over == nil || !isBegun || err != nil {
			t.Fatalf("Claim = %v, %v", isBegun, err)
		}
		if _, _, err := h.Claim(); !errors.Is(err, ErrBusy) {
			t.Errorf("the second Claim = %v", err)
		}
		a.Write(requestKey())
		if found := h.Sniff(); found != (Sniffed{}) {
			t.Errorf("found %+v", found)
		}
		<-over
		wantErr(t, "Unclaim", h.Unclaim(false), nil)
		wantPhase(t, "after the sniff", h, Recognized)
		wantErr(t, "Begin", h.Begin(), nil)
		wantPhase(t, "after Begin", h, Receiving)
		if over, _, err := h.Claim(); over != nil || err != nil {
			t.Errorf("Claim after the sniff = %v", err)
		}
	})
	t.Run("deserted", func(t *testing.T) {
		h, peer := sniffs(t, Config{})
		if _, isBegun, err := h.Claim(); isBegun || err != nil {
			t.Errorf("Claim = %v, %v", isBegun, err)
		}
		wantErr(t, "Unclaim", h.Unclaim(true), nil)
		peer.Write(requestKey())
		if found := h.Sniff(); found != (Sniffed{}) {
			t.Errorf("found %+v", found)
		}
		wantPhase(t, "after the sniff", h, Recognized)
	})
	t.Run("deserted, and the peer speaks plain TCP", func(t *testing.T) {
		for _, reads := range []bool{false, true} {
			h, peer := sniffs(t, Config{})
			h.Claim()
			h.Unclaim(true)
			peer.Write([]byte("x"))
			if found := h.Sniff(); found.Fallback.Reason != PlainPeer {
				t.Errorf("found %+v", found)
			}
			if reads {
				h.Enter(Reading)
				h.Leave(Reading)
			}
			for _, deserts := range []bool{true, false} {
				over, isBegun, err := h.Claim()
				if (over == nil) != reads || isBegun || err != nil {
					t.Errorf("after a Read %t: Claim = %v, %v, %v", reads, over, isBegun, err)
				}
				if over != nil {
					<-over
					h.Unclaim(deserts)
				}
			}
			if over, _, _ := h.Claim(); over != nil {
				t.Error("a call is told twice that the peer speaks plain TCP")
			}
		}
	})
	t.Run("a Config with an error", func(t *testing.T) {
		h, peer := sniffs(t, Config{Err: io.ErrNoProgress})
		peer.Write(requestKey())
		if found := h.Sniff(); found != (Sniffed{}) {
			t.Errorf("found %+v", found)
		}
		_, err := h.Enter(Reading)
		wantErr(t, "Enter", err, io.ErrNoProgress)
	})
}

// TestSniffSlowPeer: a peer that begins the key and then sends a byte now and then has Timeout from
// its first byte on for all of it.
func TestSniffSlowPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, peer := sniffs(t, Config{Timeout: 5 * time.Second})
		begin := time.Now()
		go func() {
			for _, b := range requestKey() {
				time.Sleep(time.Second)
				peer.Write([]byte{b})
			}
		}()
		if found := h.Sniff(); found.Fallback.Reason != SniffTimeout {
			t.Errorf("found %+v", found)
		}
		if d := time.Since(begin); d != 6*time.Second {
			t.Errorf("plain after %v, want 6 s", d)
		}
		time.Sleep(minute) // until all is written
		peer.Close()
		if got, err := io.ReadAll(readerOf{h}); !bytes.Equal(got, requestKey()) || err != nil {
			t.Errorf("Read gives %q, %v", got, err)
		}
	})
}

// TestSniffLeavesTheTime: the rest of a Request has no time of its own. It must arrive in the time
// that began with its first byte, unless the Request is left to a program that has not asked for it
// yet.
func TestSniffLeavesTheTime(t *testing.T) {
	for _, tt := range []struct {
		desc string
		cfg  Config
		left time.Duration // for the rest of the Request; 0: as much as the call gives
	}{
		{"startup goes on", Config{Timeout: 5 * time.Second}, 2 * time.Second},
		{"left to the program", Config{Timeout: 5 * time.Second, Judge: true}, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, peer := sniffs(t, tt.cfg)
				key := requestKey()
				peer.Write(key[:4])
				time.AfterFunc(3*time.Second, func() { peer.Write(key[4:]) })
				if found := h.Sniff(); found.Request != (tt.left > 0) || found.Fallback.Reason != 0 {
					t.Fatalf("found %+v", found)
				}
				ctx, cancel := h.Until(t.Context())
				defer cancel()
				until, bounded := ctx.Deadline()
				if bounded != (tt.left > 0) || bounded && time.Until(until) != tt.left {
					t.Errorf("%v are left for the rest of the Request, %t, want %v", time.Until(until), bounded, tt.left)
				}
				if !bounded {
					wantErr(t, "Begin", h.Begin(), nil)
				}
				begin, want := time.Now(), tt.left
				if want == 0 {
					want = minute
				}
				_, err := h.ReceiveRequest(ctx, minute)
				wantErr(t, "ReceiveRequest", err, context.DeadlineExceeded)
				if d := time.Since(begin); d != want {
					t.Errorf("ReceiveRequest took %v, want %v", d, want)
				}
				peer.Close()
			})
		})
	}
}

// TestSniffDeadline: the program's read deadline does not end the sniff, and holds afterwards.
func TestSniffDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, peer := sniffs(t, Config{SniffTimeout: 5 * time.Second})
		begin := time.Now()
		wantErr(t, "SetReadDeadline", h.SetReadDeadline(begin.Add(7*time.Second)), nil)
		if found := h.Sniff(); found.Fallback.Reason != SniffTimeout || time.Since(begin) != 5*time.Second {
			t.Errorf("found %+v after %v", found, time.Since(begin))
		}
		if _, err := h.Read(make([]byte, 1)); !isTimeout(err) || time.Since(begin) != 7*time.Second {
			t.Errorf("Read = %v after %v", err, time.Since(begin))
		}
		peer.Close()
	})
}

// TestSniffEvicted: the oldest half-open connection is evicted as soon as there are too many.
func TestSniffEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDoor(1, 0)
		first, peer := sniffs(t, Config{Door: d})
		peer.Write(requestKey()[:3])
		over := make(chan Sniffed, 1)
		go func() { over <- first.Sniff() }()
		synctest.Wait()
		second, other := sniffs(t, Config{Door: d})
		other.Write(requestKey())
		if found := second.Sniff(); !found.Request {
			t.Errorf("the second: %+v", found)
		}
		if found := <-over; !errors.Is(found.Err, ErrHalfOpen) || !found.MustClose || found.Request {
			t.Errorf("the first: %+v", found)
		}
		wantPhase(t, "the first", first, Failed)
		_, err := first.Enter(Reading)
		wantErr(t, "Enter", err, ErrHalfOpen)
		if _, _, err := first.Claim(); err != nil {
			t.Errorf("Claim = %v", err)
		}
	})
}

// lateRead is a stream whose Read returns the first byte after Close.
type lateRead struct {
	toe.Stream
	closed chan struct{}
}

func (s lateRead) Read(p []byte) (int, error) {
	<-s.closed
	p[0] = 'M'
	return 1, nil
}

// TestSniffClosedAsAByteComes: a connection that is closed as its first byte arrives does not stay
// counted as half open.
func TestSniffClosedAsAByteComes(t *testing.T) {
	_, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	d := NewDoor(10, 0)
	s := lateRead{b, make(chan struct{})}
	h := New(s, Config{Prefer: true, Timeout: minute, Door: d})
	if _, err := h.Enter(Reading); err != nil {
		t.Fatal(err)
	}
	over := make(chan Sniffed)
	go func() { over <- h.Sniff() }()
	if c := h.Close(); c != CloseStream {
		t.Errorf("Close = %v", c)
	}
	h.StreamClosed()
	close(s.closed)
	if found := <-over; found != (Sniffed{}) {
		t.Errorf("found %+v", found)
	}
	if n := d.open.Len(); n != 0 {
		t.Errorf("%d connections are half open", n)
	}
}

// FuzzSniff: whatever the first bytes are and however they are cut, a Request is recognized by its
// key alone, no byte behind the key is taken, and none is lost.
func FuzzSniff(f *testing.F) {
	f.Add(requestKey(), uint64(1))
	f.Add([]byte("MPA ID Req Fram"), uint64(2))
	f.Add([]byte("MPA ID Req Fran and more"), uint64(3))
	f.Add([]byte{}, uint64(4))
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		if len(in) > 1000 {
			return
		}
		a, b := simtoe.Pair(simtoe.Config{Seed: seed, MaxSegment: 1 + rand.New(rand.NewPCG(seed, 0)).IntN(20), Split: true}, simtoe.Config{})
		h := New(b, Config{Prefer: true, Timeout: minute})
		if _, err := h.Enter(Reading); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(in); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if found := h.Sniff(); found.Request != bytes.HasPrefix(in, requestKey()) {
			t.Errorf("%q: %+v", in, found)
		}
		h.mu.Lock()
		n := len(h.ahead)
		h.mu.Unlock()
		if n > KeyLen {
			t.Errorf("%d bytes read ahead", n)
		}
		if got, err := io.ReadAll(readerOf{h}); !bytes.Equal(got, in) || err != nil {
			t.Errorf("Read gives %q, %v, want %q", got, err, in)
		}
	})
}
