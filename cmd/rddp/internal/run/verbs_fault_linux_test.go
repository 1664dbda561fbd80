//go:build amd64 || arm64

package run

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/verbs"
)

// faultOfTest is the environment variable with the fault that the supervisor injects.
const faultOfTest = "RDDP_TEST_FAULT"

func init() { programs["client-fault"] = faultyClientProgram }

// A ledger is one end of a session, with its outstanding work requests.
type ledger struct {
	ctx    context.Context
	q      *verbs.QP
	region *verbs.Region
	last   uint64
	open   map[uint64]bool // by ID
}

func (l *ledger) config(d *verbs.Device) verbs.Config {
	l.open = map[uint64]bool{}
	return verbs.Config{Prepare: func(q *verbs.QP) (err error) {
		rights := ddp.RemoteRead | ddp.RemoteWrite
		if d.Can(verbs.OpFetchAdd) {
			rights |= ddp.RemoteAtomic
		}
		l.region, err = d.NewRegion(64<<10, rights)
		l.q = q
		return err
	}}
}

func (l *ledger) post(r verbs.Request, n int) (uint64, error) {
	s := verbs.Segment{Region: l.region, Len: n}
	l.last++
	r.ID = l.last
	post := func() error { return l.q.Post(r, s) }
	if r.Op == verbs.OpReceive {
		post = func() error { return l.q.PostReceive(r.ID, s) }
	}
	if err := post(); err != nil {
		return 0, err
	}
	l.open[r.ID] = true
	return r.ID, nil
}

// errDoubled is the test's own error: a completion arrived for no outstanding work request.
var errDoubled = errors.New("a completion that was not due")

// settle waits for completions until done, or until one has an error. It returns the first error.
func (l *ledger) settle(done func() bool) (first error) {
	for !done() {
		var all [4]verbs.Completion
		n, err := l.q.Wait(l.ctx, all[:])
		if err != nil {
			return err
		}
		for _, c := range all[:n] {
			if !l.open[c.ID] {
				return fmt.Errorf("%w: %+v", errDoubled, c)
			}
			delete(l.open, c.ID)
			if first == nil {
				first = c.Err
			}
		}
		if first != nil {
			return first
		}
	}
	return first
}

// want waits for the completion of one work request.
func (l *ledger) want(id uint64, err error) error {
	if err != nil {
		return err
	}
	return l.settle(func() bool { return !l.open[id] })
}

// canonical runs a session with each operation, from a to b. One receive stays posted at each end.
func canonical(d *verbs.Device, a, b *ledger) error {
	memory := b.region.Handle()
	receive := verbs.Request{Op: verbs.OpReceive}
	for _, l := range []*ledger{a, b} {
		if _, err := l.post(receive, 64); err != nil {
			return err
		}
	}
	for _, o := range []verbs.Op{verbs.OpSend, verbs.OpWrite, verbs.OpRead, verbs.OpSend, verbs.OpFetchAdd, verbs.OpSendImmediate, verbs.OpWriteImmediate, verbs.OpSend} {
		if !d.Can(o) {
			continue
		}
		takes := o != verbs.OpWrite && o != verbs.OpRead && o != verbs.OpFetchAdd
		if takes {
			if _, err := b.post(receive, 64); err != nil {
				return err
			}
		}
		n := 8
		if o == verbs.OpWrite || o == verbs.OpRead {
			n = 32 << 10
		}
		if err := a.want(a.post(verbs.Request{Op: o, Remote: memory}, n)); err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		if takes {
			if err := b.settle(func() bool { return len(b.open) == 1 }); err != nil { // the oldest is complete
				return fmt.Errorf("receive of %v: %w", o, err)
			}
		}
	}
	return nil
}

// isTyped reports whether the package documents the error.
func isTyped(err error) bool {
	var w *verbs.WorkError
	var d *verbs.DeviceError
	var u *verbs.UnavailableError
	var c *verbs.ConnectError
	return errors.As(err, &w) || errors.As(err, &d) || errors.As(err, &u) || errors.As(err, &c) || errors.Is(err, verbs.ErrDisconnected)
}

// faultyClientProgram connects two ends on a device that may fail. Each error is a typed one, and
// each work request completes once, unless Wait has reported that the device has failed.
func faultyClientProgram([]string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	d, err := verbs.Open("")
	if err != nil {
		return mustBeTyped("opening", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	a, b := &ledger{ctx: ctx}, &ledger{ctx: ctx}
	if err := meetFaulty(ctx, d, a, b); err != nil {
		return mustBeTyped("connecting", err)
	}
	if err := canonical(d, a, b); err != nil {
		if err := mustBeTyped("the session", err); err != nil {
			return err
		}
	}
	// When one end closes, the other ends too, and loses no completion.
	_ = a.q.Close()
	for len(b.open) > 0 {
		var w *verbs.WorkError
		if err = b.settle(func() bool { return len(b.open) == 0 }); !errors.As(err, &w) {
			break
		}
	}
	if len(b.open) != 0 && !errors.As(err, new(*verbs.DeviceError)) || ctx.Err() != nil {
		return fmt.Errorf("%d work requests without a completion: %v", len(b.open), err)
	}
	if err != nil {
		err = mustBeTyped("the end", err)
	}
	_ = b.q.Close()
	return errors.Join(err, a.region.Close(), b.region.Close())
}

// mustBeTyped returns an error if err is not a typed one.
func mustBeTyped(what string, err error) error {
	if !isTyped(err) || errors.Is(err, errDoubled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return nil
}

// meetFaulty connects a to b. If one of them fails, the other does not wait for it.
func meetFaulty(ctx context.Context, d *verbs.Device, a, b *ledger) error {
	l, err := d.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		return err
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx, b.config(d))
		accepted <- err
	}()
	_, err = d.Dial(ctx, l.Addr(), a.config(d))
	if err != nil {
		_ = l.Close()
	}
	other := <-accepted
	_ = l.Close()
	if err == nil {
		err = other
	}
	if err != nil && !isTyped(err) && errors.Is(other, os.ErrClosed) {
		return other
	}
	return err
}

// TestVerbsClientFaults makes the device fail at each step of a session.
func TestVerbsClientFaults(t *testing.T) {
	withFaults(t, "client-fault", []string{
		"event=DEVICE_FATAL@0s", "event=DEVICE_FATAL@1ms", "event=DEVICE_FATAL@3ms", "qp-error@0s", "qp-error@1ms", "register=ENOMEM@1", "register=ENOMEM@2",
	}, 9, testmode.Rounds(1, 4), 1, 100, 300, 500, 1000, 10_000, 20_000, 34_000, 50_000, 66_000)
}
