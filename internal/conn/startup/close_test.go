package startup

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/toe/simtoe"
)

// TestCloseDuringTheSwitch: the goroutine that runs startup learns that Close was called meanwhile,
// and closes the driver that it has made, or the stream. A call that waits learns that too.
func TestCloseDuringTheSwitch(t *testing.T) {
	answers := func(h *Handshake) error {
		r := &Request{}
		return errors.Join(h.BeginForListener(), h.Ask(r), h.Answer(r, nil))
	}
	for _, tt := range []struct {
		desc  string
		begin func(h *Handshake) error
		err   error
		phase Phase
		close Closing
	}{
		{"a call", (*Handshake).Begin, nil, DDP, Interrupt},
		{"the Listener", answers, nil, DDP, LeaveOpen},
		{"a first use, which ends with a Terminate", func(h *Handshake) error { _, err := h.Enter(Reading); return err }, io.ErrNoProgress, Terminating, Interrupt},
	} {
		for _, closes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Close %t", tt.desc, closes), func(t *testing.T) {
				a, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				h := New(a, Config{Initiator: tt.close == Interrupt})
				wantErr(t, "the beginning", tt.begin(h), nil)
				e, err := h.Enter(Reading)
				if e.Over == nil || err != nil {
					t.Fatalf("Enter = %+v, %v", e, err)
				}
				if closes {
					if got := h.Close(); got != tt.close {
						t.Errorf("Close = %v, want %v", got, tt.close)
					}
				}
				if closed := h.Switched(tt.err); closed != closes {
					t.Errorf("Switched tells that the connection is closed: %t, want %t", closed, closes)
				}
				wantPhase(t, "after the switch", h, tt.phase)
				<-e.Over
				want := tt.err
				if want == nil && closes {
					want = net.ErrClosed
				}
				_, err = h.Enter(Reading)
				wantErr(t, "Enter", err, want)
			})
		}
	}
	h, _ := ends(Config{}, Config{})
	wantErr(t, "Begin", h.Begin(), nil)
	h.Close()
	rejected := errors.New("rejected")
	if !h.NotSwitched(rejected, true) {
		t.Error("nobody closes a rejected connection that was closed meanwhile")
	}
	_, err := h.Enter(Reading)
	wantErr(t, "Enter", err, net.ErrClosed)
}
