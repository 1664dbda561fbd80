package observe

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/rddp/rddp/toe"
)

// A note is a Tap that records its calls and calls do in each of them.
type note struct {
	calls []string
	do    func(call string)
}

func (n *note) Sent(p []byte)     { n.call("sent " + string(p)) }
func (n *note) Received(p []byte) { n.call("received " + string(p)) }
func (n *note) Closed()           { n.call("closed") }

func (n *note) call(s string) {
	n.calls = append(n.calls, s)
	if n.do != nil {
		n.do(s)
	}
}

// start starts a Recording with tap on a connection whose Initiator is this end.
func start(t *testing.T, taps *Taps, tap toe.Tap) *Recording {
	t.Helper()
	r, err := taps.Start(func() toe.Tap { return tap }, true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A Tap may end its own Recording, and begin another one, in each of its calls. No call follows
// Closed, which comes once.
func TestTapStopsItself(t *testing.T) {
	steps := []func(*Taps){
		func(taps *Taps) { taps.Frame([]byte("request"), true, true) },
		func(taps *Taps) { taps.Frame([]byte("reply"), false, true) },
		func(taps *Taps) { taps.Sent([][]byte{[]byte("a"), []byte("b")}, 0, false) },
		func(taps *Taps) {
			if r := taps.Recording(); r != nil {
				r.ReceivedFPDUs([]byte("c"), 0, false)
			}
		},
		func(taps *Taps) { taps.Plain([]byte("d"), true) },
		(*Taps).Closed,
	}
	all := []string{"sent request", "received reply", "sent a", "sent b", "received c", "sent d", "closed"}
	for _, at := range all {
		t.Run(at, func(t *testing.T) {
			taps, tap, next := new(Taps), new(note), new(note)
			var r *Recording
			stopped := false
			tap.do = func(call string) {
				if call == at {
					stopped = taps.Stop(r)
					if taps.Stop(r) {
						t.Error("the second Stop finds a Recording that runs")
					}
					if at != "closed" {
						start(t, taps, next)
					}
				}
			}
			r = start(t, taps, tap)
			for _, step := range steps {
				step(taps)
			}
			want := slices.Clone(all)
			if at != "closed" {
				n := slices.Index(all, at) + 1
				if at == "sent a" {
					n++ // the rest of the batch
				}
				want = append(want[:n], "closed")
			}
			if !slices.Equal(tap.calls, want) {
				t.Errorf("the Tap has seen %q, want %q", tap.calls, want)
			}
			if stopped != (at != "closed") {
				t.Errorf("Stop returned %v", stopped)
			}
			if at != "closed" && (len(next.calls) == 0 || next.calls[len(next.calls)-1] != "closed") {
				t.Errorf("the second Tap has seen %q", next.calls)
			}
		})
	}
}

// A Recording that begins while startup frames come sees each of them once, in order, and later
// calls only after them.
func TestStartDuringStartup(t *testing.T) {
	taps, tap := new(Taps), new(note)
	taps.Frame([]byte("request"), true, true)
	tap.do = func(call string) {
		if call != "sent request" {
			return
		}
		if _, err := taps.Start(nil, true); !errors.Is(err, ErrTapped) {
			t.Errorf("a second Start: %v, want ErrTapped", err)
		}
		taps.Sent([][]byte{[]byte("early")}, 0, false) // shown only when Start has returned
		taps.Frame([]byte("rep"), false, false)
		taps.Frame([]byte("reply"), false, true)
	}
	start(t, taps, tap)
	taps.Sent([][]byte{[]byte("fpdu")}, 0, false)
	if want := []string{"sent request", "received rep", "received reply", "sent fpdu"}; !slices.Equal(tap.calls, want) {
		t.Errorf("the Tap has seen %q, want %q", tap.calls, want)
	}
}

// If a connection ends while a Recording begins, Closed of its Tap is called, after the frames.
func TestEndDuringStart(t *testing.T) {
	taps, tap := new(Taps), new(note)
	taps.Frame([]byte("request"), true, true)
	taps.Frame([]byte("reply"), false, true)
	tap.do = func(call string) {
		if call == "sent request" {
			taps.Closed()
		}
	}
	start(t, taps, tap)
	if want := []string{"sent request", "received reply", "closed"}; !slices.Equal(tap.calls, want) {
		t.Errorf("the Tap has seen %q, want %q", tap.calls, want)
	}
	if _, err := taps.Start(nil, true); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Start after the end: %v", err)
	}
}

// After a panic while a Recording begins, another Recording can begin.
func TestPanicDuringStart(t *testing.T) {
	taps := new(Taps)
	taps.Frame([]byte("request"), true, true)
	for _, begin := range []func() toe.Tap{
		func() toe.Tap { panic("the maker") },
		func() toe.Tap { return &note{do: func(string) { panic("the Tap") }} },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			taps.Start(begin, true)
		}()
	}
	start(t, taps, new(note))
}

// Closed of both Taps is called, even if one of them panics, and the panic goes to the caller.
func TestClosedPanics(t *testing.T) {
	taps, tap := new(Taps), new(note)
	taps.Init(&note{do: func(string) { panic("closed") }})
	start(t, taps, tap)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		taps.Closed()
	}()
	if !slices.Equal(tap.calls, []string{"closed"}) {
		t.Errorf("the other Tap has seen %q", tap.calls)
	}
}

// Whatever calls come at the same time, each Tap is closed once, after its last other call.
func TestClosedIsLast(t *testing.T) {
	for range 200 {
		taps := new(Taps)
		var mu sync.Mutex // of the Tap, which many goroutines call
		var made []*note
		begin := func() toe.Tap {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, new(note))
			return lockedTap{made[len(made)-1], &mu}
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for range 5 {
					if r, err := taps.Start(begin, true); err == nil {
						taps.Stop(r)
					}
				}
			})
			wg.Go(func() {
				for range 20 {
					taps.Sent([][]byte{[]byte("x")}, 0, false)
					taps.Frame([]byte("f"), true, false)
				}
			})
		}
		wg.Go(taps.Closed)
		wg.Wait()
		for _, n := range made {
			if i := slices.Index(n.calls, "closed"); i != len(n.calls)-1 {
				t.Fatalf("a Tap has seen %q", n.calls)
			}
		}
	}
}

type lockedTap struct {
	*note
	mu *sync.Mutex
}

func (l lockedTap) Sent(p []byte)     { l.mu.Lock(); defer l.mu.Unlock(); l.note.Sent(p) }
func (l lockedTap) Received(p []byte) { l.mu.Lock(); defer l.mu.Unlock(); l.note.Received(p) }
func (l lockedTap) Closed()           { l.mu.Lock(); defer l.mu.Unlock(); l.note.Closed() }
