package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// A turn is what one end of a conversation sends before the other end does.
type turn struct {
	initiator bool
	text      []byte
}

// A conversation is turns in plain TCP, then the switch, then turns in DDP mode. Both ends know it.
type conversation struct {
	before, after []turn
	wire          simtoe.Config
	initiator     extsock.Config
	responder     extsock.Config
}

// converse makes up a conversation.
func converse(rnd *rand.Rand) conversation {
	turns := func(n, longest int) []turn {
		ts := make([]turn, n)
		for i := range ts {
			text := make([]byte, 1+rnd.IntN(longest))
			for j := range text {
				text[j] = byte(rnd.Uint32())
			}
			ts[i] = turn{rnd.IntN(2) == 0, text}
		}
		return ts
	}
	c := conversation{before: turns(rnd.IntN(5), 200), after: turns(1+rnd.IntN(4), 500)}
	if rnd.IntN(4) == 0 { // what looks like startup is not
		c.before = append(c.before, turn{true, []byte(mpaKey)}, turn{false, []byte("MPA ID Rep Frame")})
	}
	// The Initiator must have read the Responder's last turn before the switch. The Initiator's
	// last turn may still be on its way, with the Request right behind it.
	if rnd.IntN(2) == 0 {
		c.before = append(c.before, turn{true, []byte("START DDP")})
	}
	c.wire = simtoe.Config{Seed: rnd.Uint64(), MaxSegment: 1 + rnd.IntN(64), Split: true}
	if rnd.IntN(3) == 0 {
		c.wire.Early = 0.2
	}
	config := func() extsock.Config {
		return extsock.Config{Markers: rnd.IntN(2) == 0, NoCRC: rnd.IntN(2) == 0, Revision: 1 + rnd.IntN(2), RecvDepth: 8, RecvSize: 512}
	}
	c.initiator, c.responder = config(), config()
	c.responder.Revision = 2
	return c
}

// play plays one end's part. It checks every octet that it gets, and that nothing comes after the
// last one.
func (v *conversation) play(c *extsock.Conn, initiator bool, timeout time.Duration) error {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	say := func(phase string, ts []turn) error {
		for i, t := range ts {
			if t.initiator == initiator {
				if _, err := c.Write(t.text); err != nil {
					return fmt.Errorf("turn %d %s: Write: %w", i, phase, err)
				}
				continue
			}
			got := make([]byte, len(t.text))
			if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, t.text) {
				return fmt.Errorf("turn %d %s: got %x, want %x, %w", i, phase, got[:n], t.text, err)
			}
		}
		return nil
	}
	if err := say("before the switch", v.before); err != nil {
		return err
	}
	if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1); err != nil {
		return err
	}
	if err := say("after it", v.after); err != nil {
		return err
	}
	if initiator { // the other end sees that there is nothing more
		return c.Close()
	}
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		return fmt.Errorf("behind the last octet came %d, %w", n, err)
	}
	return nil
}

// TestSwitchInAConversation switches in the middle of conversations that the wire splits at random:
// no octet is lost, none is added, and none comes on the wrong side of the switch. MPA-5044-7.1-1,
// MPA-5044-7.1-4
func TestSwitchInAConversation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conversations := testmode.Rounds(10_000, 700)
		seed := rand.Uint64()
		t.Logf("seed %#x", seed)
		for i := range conversations {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			v := converse(rnd)
			a, b := simtoe.Pair(v.wire, v.wire)
			ended := make(chan error, 1)
			go func() { ended <- v.play(extsock.NewConn(b, false, &v.responder), false, time.Minute) }()
			err := v.play(extsock.NewConn(a, true, &v.initiator), true, time.Minute)
			if err := errors.Join(err, <-ended); err != nil {
				t.Fatalf("seed %#x, conversation %d: %v", seed, i, err)
			}
		}
	})
}
