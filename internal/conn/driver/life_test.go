package driver

import (
	"errors"
	"io"
	"syscall"
	"testing"
)

// TestLifeMovesForward checks that each state can only be followed by the states that the drawing
// shows, and that setState panics for all others.
func TestLifeMovesForward(t *testing.T) {
	want := map[lifeState][]lifeState{
		lifeOpen:     {lifeEnding},
		lifeEnding:   {lifeLost, lifeKilled, lifeFinished},
		lifeLost:     {lifeKilled, lifeFinished},
		lifeKilled:   {lifeFinished},
		lifeFinished: {lifeClosed},
	}
	for from := lifeOpen; from <= lifeClosed; from++ {
		for to := lifeOpen; to <= lifeClosed; to++ {
			legal := false
			for _, s := range want[from] {
				legal = legal || s == to
			}
			var l life
			l.now.Init(from)
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				l.mu.Lock()
				defer l.mu.Unlock()
				l.setState(to)
				return false
			}()
			if panicked == legal {
				t.Errorf("from %v to %v: panics %t", from, to, panicked)
			}
		}
	}
}

// TestLifeEndsInAnyOrder checks that the way that ends last closes the stream. It also checks that
// a connection is killed if TCP takes no more from it and no goroutine reads from it.
func TestLifeEndsInAnyOrder(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		steps []string
		want  lifeState // the state before the last step
	}{
		{"orderly", []string{"end", "finish", "deafen"}, lifeFinished},
		{"the peer first", []string{"end", "deafen", "finish"}, lifeEnding},
		{"lost, then silent", []string{"end", "lose", "deafen", "finish"}, lifeKilled},
		{"silent, then lost", []string{"end", "deafen", "lose", "finish"}, lifeKilled},
		{"killed twice, and lost", []string{"end", "kill", "kill", "lose", "deafen", "finish"}, lifeKilled},
		{"killed after the FIN", []string{"end", "finish", "kill", "deafen"}, lifeFinished},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var l life
			for i, step := range tt.steps {
				last := i == len(tt.steps)-1
				if last && l.state() != tt.want {
					t.Errorf("%v before the last step, want %v", l.state(), tt.want)
				}
				closes := false
				switch step {
				case "end":
					l.end(io.EOF)
				case "lose":
					l.lose()
				case "kill":
					l.kill()
				case "finish":
					closes = l.finish()
				case "deafen":
					closes = l.deafen()
				}
				if closes != last {
					t.Errorf("step %q says that it is the last way: %t", step, closes)
				}
				if l.ending.IsSet() != (l.state() >= lifeEnding) || l.finished.IsSet() != (l.state() >= lifeFinished) {
					t.Errorf("after %q the Latches do not fit %v", step, l.state())
				}
			}
			if l.state() != lifeClosed {
				t.Errorf("%v at the end", l.state())
			}
		})
	}
}

// TestLifeKeepsItsFirstReason checks that only a reset replaces a reason, and only the reason
// EPIPE.
func TestLifeKeepsItsFirstReason(t *testing.T) {
	for _, tt := range []struct{ first, second, want error }{
		{io.EOF, syscall.ECONNRESET, io.EOF},
		{syscall.EPIPE, io.EOF, syscall.EPIPE},
		{syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNRESET},
	} {
		var l life
		if l.why() != nil {
			t.Errorf("an open connection ends for %v", l.why())
		}
		if !l.end(tt.first) || l.end(tt.second) {
			t.Errorf("%v, %v: the wrong one is the first reason", tt.first, tt.second)
		}
		if !errors.Is(l.why(), tt.want) {
			t.Errorf("%v, %v: the reason is %v, want %v", tt.first, tt.second, l.why(), tt.want)
		}
	}
}
