package devicetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/toe/rnic"
)

// A Mortal is a Backend whose device dies in one of the calls; from then on every call fails.
// Outstanding work gets no completion, and the peers' devices find that the connections have ended.
type Mortal struct {
	*Backend
	death int

	mu    sync.Mutex
	calls int
	pairs []rnic.QP
	dead  chan struct{}
}

var _ rnic.Deviced = (*Mortal)(nil)

// NewMortal returns a Mortal whose device dies in the given call, counted from 1; 0 means never.
func NewMortal(b *Backend, death int) *Mortal {
	return &Mortal{Backend: b, death: death, dead: make(chan struct{})}
}

// A DeathError is the error of a dead device.
type DeathError struct{ Call string }

func (e *DeathError) Error() string { return fmt.Sprintf("devicetest: %s: the device is dead", e.Call) }

// Calls returns the number of calls so far.
func (m *Mortal) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// count counts a call, and fails if the device dies in it or is dead.
func (m *Mortal) count(call string) error {
	m.mu.Lock()
	m.calls++
	var die []rnic.QP
	if m.calls == m.death {
		close(m.dead)
		die, m.pairs = m.pairs, nil
	}
	m.mu.Unlock()
	for _, q := range die {
		_ = q.Close() // it returns nil
	}
	if m.isDead() {
		return &DeathError{call}
	}
	return nil
}

func (m *Mortal) isDead() bool {
	select {
	case <-m.dead:
		return true
	default:
		return false
	}
}

// Device returns the device.
func (m *Mortal) Device() (rnic.Device, error) {
	d, err := m.Backend.Device()
	if err != nil {
		return nil, err
	}
	return mortalDevice{d, m}, nil
}

type mortalDevice struct {
	rnic.Device
	m *Mortal
}

func (d mortalDevice) NewRegion(n int, may ddp.Access) (rnic.Region, error) {
	if err := d.m.count("NewRegion"); err != nil {
		return nil, err
	}
	return d.Device.NewRegion(n, may)
}

// pair wraps the result of a device's Dial or Accept.
func (d mortalDevice) pair(q rnic.QP, err error) (rnic.QP, error) {
	if err != nil {
		return nil, err
	}
	d.m.mu.Lock()
	d.m.pairs = append(d.m.pairs, q)
	d.m.mu.Unlock()
	if err := d.m.count("connecting"); err != nil {
		_ = q.Close() // it returns nil
		return nil, err
	}
	return &mortalQP{q, d.m}, nil
}

// config returns cfg with a Prepare that gets the wrapped queue pair.
func (d mortalDevice) config(cfg rnic.QPConfig) rnic.QPConfig {
	prepare := cfg.Prepare
	cfg.Prepare = func(q rnic.QP) error { return prepare(&mortalQP{q, d.m}) }
	return cfg
}

func (d mortalDevice) Dial(ctx context.Context, network, address string, cfg rnic.QPConfig) (rnic.QP, error) {
	if err := d.m.count("Dial"); err != nil {
		return nil, err
	}
	return d.pair(d.Device.Dial(ctx, network, address, d.config(cfg)))
}

func (d mortalDevice) Listen(ctx context.Context, network, address string) (rnic.QPListener, error) {
	if err := d.m.count("Listen"); err != nil {
		return nil, err
	}
	l, err := d.Device.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &mortalListener{l, d}, nil
}

type mortalListener struct {
	rnic.QPListener
	d mortalDevice
}

func (l *mortalListener) Accept(ctx context.Context, cfg rnic.QPConfig) (rnic.QP, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-l.d.m.dead:
			cancel()
		case <-stop:
		}
	}()
	q, err := l.QPListener.Accept(ctx, l.d.config(cfg))
	if l.d.m.isDead() && !errors.Is(err, os.ErrClosed) {
		if q != nil {
			_ = q.Close() // it returns nil
		}
		return nil, &DeathError{"Accept"}
	}
	return l.d.pair(q, err)
}

type mortalQP struct {
	rnic.QP
	m *Mortal
}

func (q *mortalQP) Post(r rnic.Request, local ...rnic.Segment) error {
	if err := q.m.count("Post"); err != nil {
		return err
	}
	return q.QP.Post(r, local...)
}

func (q *mortalQP) PostReceive(id uint64, to ...rnic.Segment) error {
	if err := q.m.count("PostReceive"); err != nil {
		return err
	}
	return q.QP.PostReceive(id, to...)
}

func (q *mortalQP) Wait(ctx context.Context, dst []rnic.Completion) (int, error) {
	n, err := q.QP.Wait(ctx, dst)
	if q.m.count("Wait") != nil {
		return 0, &DeathError{"Wait"}
	}
	return n, err
}
