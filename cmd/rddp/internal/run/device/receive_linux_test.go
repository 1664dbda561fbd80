//go:build amd64 || arm64

package device

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/guest"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// linkOf waits for the link of a queue pair.
func (p *program) linkOf(t *testing.T, q *guest.QP) (l *link) {
	t.Helper()
	x := p.dev.find(q.Num)
	prototest.Wait(t, "the link", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		l = x.link
		return l != nil
	})
	return l
}

// TestWrongFrames has a peer say what no peer may say.
func TestWrongFrames(t *testing.T) {
	a, _, qa, _ := pair(t)
	l := a.linkOf(t, qa)
	for _, number := range []uint32{1, 1 << 31, ^uint32(0)} {
		if err := l.receiver.handle(frame{kind: frameAck, number: number}, nil); !errors.Is(err, errFrame) {
			t.Errorf("an acknowledgement of frame %d, which was not sent: %v", number, err)
		}
	}
	send := frame{kind: frameSend, flags: flagFirst | flagLast}
	for i := range window + 1 { // as many as wait for a receive at most, and what asks for an acknowledgement behind them
		if err := l.receiver.handle(send, nil); err != nil {
			t.Fatalf("frame %d that finds no receive: %v", i, err)
		}
	}
	if err := l.receiver.handle(send, nil); !errors.Is(err, errFrame) {
		t.Errorf("one frame too many: %v", err)
	}
}

// TestLostSendGoesOn: the receive that is posted within a Send over UC without one gets the next Send.
func TestLostSendGoesOn(t *testing.T) {
	a, _, qa, _ := ucPair(t)
	l := a.linkOf(t, qa)
	take := func(flags frameFlags, payload string) {
		t.Helper()
		if err := l.receiver.handle(frame{kind: frameSend, flags: flags, length: uint32(len(payload))}, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	take(flagFirst, "lost")
	qa.PostRecv(1, a.mr.Part(0, 64))
	take(0, "lost")
	take(flagLast, "lost")
	take(flagFirst, "the next ")
	take(flagLast, "Send")
	if w := a.want("the receive", 1, uverbs.Success); string(a.read(0, int(w.Len))) != "the next Send" {
		t.Errorf("%q", a.read(0, int(w.Len)))
	}
}
