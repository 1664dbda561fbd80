package filecopy

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// A peer that sends more than the protocol allows, and then nothing, does not block the session,
// even if its user waits for something else, such as a Read that the peer does not answer.
func TestFloodThenSilence(t *testing.T) {
	const idle = time.Minute
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		conf := socket(extsock.Config{}, idle)
		conf.Startup = extsock.StartupRequire
		peer := extsock.NewConn(a, true, &conf)
		c := extsock.NewConn(b, false, &conf)
		go c.Handshake(t.Context())
		if err := peer.Handshake(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := newSession(t.Context(), c, idle, idle)
		sent, allowed := 0, cap(s.in)
		for range 5 * window {
			m := message{kind: kindDone}
			if err := peer.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: m.appendTo(nil), Inline: true, Unsignaled: true}); err != nil {
				break // the session has already ended
			}
			sent++
		}
		if sent <= allowed {
			t.Errorf("%d messages were sent, and the session allows %d", sent, allowed)
		}
		select {
		case <-s.over:
		case <-time.After(10 * idle):
			t.Fatal("the session does not end")
		}
		if !errors.Is(s.cause, ErrProtocol) {
			t.Errorf("it ends with %v", s.cause)
		}
		peer.Close()
		s.close()
		time.Sleep(time.Minute) // the connections wait for a FIN in the background
	})
}
