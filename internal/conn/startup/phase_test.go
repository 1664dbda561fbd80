package startup

import (
	"fmt"
	"strings"
	"testing"
)

// TestTransitions: setPhase follows the arrows of the drawing, and panics everywhere else.
func TestTransitions(t *testing.T) {
	arrows := map[Phase][]Phase{
		Undecided:  {Plain, Sniffing, Requesting, Receiving, DDP},
		Plain:      {Requesting, Receiving, Failed},
		Sniffing:   {Plain, Recognized, Receiving, Failed},
		Recognized: {Receiving},
		Requesting: {Plain, DDP, Terminating, Failed},
		Receiving:  {Asked, Failed},
		Asked:      {Answering},
		Answering:  {Plain, DDP, Failed},
	}
	for from := range Phase(len(phaseNames)) {
		for to := range Phase(len(phaseNames)) {
			want := false
			for _, p := range arrows[from] {
				want = want || p == to
			}
			h := &Handshake{}
			h.phase.Init(from)
			panicked := move(h, to)
			if moved := h.Phase() == to && panicked == ""; moved != want && from != to || from == to && panicked == "" {
				t.Errorf("%v to %v: moved %t, want %t", from, to, moved, want)
			}
			if panicked != "" && !strings.HasPrefix(panicked, "BUG: ") {
				t.Errorf("%v to %v panics with %q", from, to, panicked)
			}
			if panicked != "" && h.Phase() != from {
				t.Errorf("%v to %v panics, and the phase is %v", from, to, h.Phase())
			}
		}
	}
}

// move calls setPhase and returns what it panicked with.
func move(h *Handshake, to Phase) (panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprint(v)
		}
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setPhase(to)
	return ""
}

func TestPhaseNames(t *testing.T) {
	seen := map[string]bool{}
	for p := range Phase(len(phaseNames)) {
		if s := p.String(); s == "" || strings.Contains(s, "(") || seen[s] {
			t.Errorf("Phase %d is called %q", int(p), s)
		} else {
			seen[s] = true
		}
	}
	if got := Reason(99).String(); got != "Reason(99)" {
		t.Errorf("an unknown reason is called %q", got)
	}
}
