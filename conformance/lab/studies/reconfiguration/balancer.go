package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/extsock"
)

// shared is a load balancer's access to the shared state.
type shared interface {
	read(ctx context.Context) (state, error)
	// swap replaces a word if its value is old, and reports whether it was.
	swap(ctx context.Context, word int, old, new uint64) (bool, error)
	add(ctx context.Context, word int, delta uint64) error
}

// remote accesses the state by RDMA.
type remote struct{ *extsock.RemoteMemory }

func (r remote) read(ctx context.Context) (s state, err error) {
	b := make([]byte, words*wordLen)
	_, err = r.Read(ctx, b, 0)
	s.parse(b)
	return s, err
}

func (r remote) swap(ctx context.Context, word int, old, new uint64) (bool, error) {
	before, err := r.CompareAndSwap(ctx, int64(word*wordLen), old, new)
	return before == old, err
}

func (r remote) add(ctx context.Context, word int, delta uint64) error {
	_, err := r.FetchAdd(ctx, int64(word*wordLen), delta)
	return err
}

// messages accesses the state by messages.
type messages struct{ net.Conn }

func (m messages) ask(op byte, word int, first, second uint64, answer []byte) error {
	b := []byte{op}
	for _, w := range []uint64{uint64(word), first, second} {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	if _, err := m.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(m, answer)
	return err
}

func (m messages) read(context.Context) (s state, err error) {
	b := make([]byte, words*wordLen)
	err = m.ask(opState, 0, 0, 0, b)
	s.parse(b)
	return s, err
}

func (m messages) swap(_ context.Context, word int, old, new uint64) (bool, error) {
	var before [wordLen]byte
	err := m.ask(opSwap, word, old, new, before[:])
	return binary.NativeEndian.Uint64(before[:]) == old, err
}

func (m messages) add(_ context.Context, word int, delta uint64) error {
	return m.ask(opAdd, word, delta, 0, make([]byte, wordLen))
}

// A move assigns a server to another site.
type move struct {
	server int
	site   uint64
	at     time.Time
}

// A balancer is a load balancer.
type balancer struct {
	t       trial
	number  int
	c       net.Conn
	shared  shared
	counted uint64    // the last value of its counter that it has seen
	settled time.Time // when the load is balanced after the last move
	moves   []move
}

const (
	interval = 2 * time.Millisecond  // between two reads of the state
	settle   = 40 * time.Millisecond // time in which the load becomes balanced after a move
	high     = 5000                  // load of a site that needs a server, in µs of work
	low      = 2000                  // load of a server that its site can spare
)

func newBalancer(t trial, number int) (*balancer, error) {
	b := &balancer{t: t, number: number}
	var cfg *extsock.Config
	if t.Way != wayTCP {
		cfg = &extsock.Config{Startup: extsock.StartupRequire}
	}
	var err error
	if b.c, err = harness.Dial(t.Addresses[t.Way], cfg); err != nil || cfg == nil {
		b.shared = messages{b.c}
		return b, err
	}
	handle, err := harness.Granted(b.c)
	b.shared = remote{b.c.(*extsock.Conn).Remote(handle)}
	return b, err
}

func (b *balancer) site() uint64 { return uint64(b.number % sites) }

// run checks the state periodically until ctx is done.
func (b *balancer) run(ctx context.Context) error {
	for tick := time.Tick(interval); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		s, err := b.shared.read(context.Background())
		if err == nil {
			err = b.look(context.Background(), &s)
		}
		if err != nil {
			return err
		}
	}
}

// look moves a server to the site of the load balancer if it needs one.
func (b *balancer) look(ctx context.Context, s *state) error {
	now, mine := time.Now(), b.site()
	if b.t.Way == wayFree {
		if server := spare(s, mine); server >= 0 {
			_, err := b.take(ctx, s, server)
			return err
		}
		return nil
	}
	if c := s[counters+b.number]; c != b.counted { // another load balancer has just moved a server
		b.counted, b.settled = c, now.Add(settle)
	}
	server := spare(s, mine)
	if server < 0 || now.Before(b.settled) {
		return nil
	}
	locked, err := b.shared.swap(ctx, locks+int(mine), 0, 1)
	if err != nil || !locked {
		return err
	}
	return errors.Join(b.locked(ctx), b.unlock(ctx))
}

// locked checks the state once more, because another load balancer may have moved a server
// meanwhile.
func (b *balancer) locked(ctx context.Context) error {
	s, err := b.shared.read(ctx)
	if err != nil || s[counters+b.number] != b.counted {
		return err
	}
	server := spare(&s, b.site())
	if server < 0 {
		return nil
	}
	if took, err := b.take(ctx, &s, server); err != nil || !took {
		return err
	}
	b.settled = time.Now().Add(settle)
	for other := range balancers {
		if other != b.number && uint64(other%sites) == b.site() {
			if err := b.shared.add(ctx, counters+other, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *balancer) unlock(ctx context.Context) error {
	_, err := b.shared.swap(ctx, locks+int(b.site()), 1, 0)
	return err
}

// take assigns a server to the load balancer's site, unless another load balancer has taken it.
func (b *balancer) take(ctx context.Context, s *state, server int) (took bool, err error) {
	took, err = b.shared.swap(ctx, sitesAt+server, s[sitesAt+server], b.site())
	if took {
		b.moves = append(b.moves, move{server, b.site(), time.Now()})
	}
	return took, err
}

// spare returns a server of the other site that this site should get, or -1.
func spare(s *state, site uint64) int {
	server, others, loaded := -1, 0, false
	for i := range nodes {
		switch {
		case s[sitesAt+i] == site:
			loaded = loaded || s[loads+i] > high
		case s[loads+i] < low:
			server, others = i, others+1
		}
	}
	if !loaded || others < 2 { // no site loses its last server
		return -1
	}
	return server
}

// runBalancers is the process of the load balancers. It reports the outcome.
func runBalancers(ctx context.Context, t trial) (err error) {
	var all []*balancer
	defer func() {
		for _, b := range all {
			err = errors.Join(err, harness.Close(b.c))
		}
	}()
	for i := range balancers {
		if t.Way == wayStatic {
			break
		}
		b, err := newBalancer(t, i)
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	if err := t.warm(); err != nil {
		return err
	}
	time.Sleep(time.Until(t.Begin))
	ctx, cancel := context.WithTimeout(ctx, t.Time)
	defer cancel()
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, b := range all {
		done.Go(func() { errs[i] = b.run(ctx) })
	}
	<-ctx.Done()
	done.Wait()
	var moves []move
	for _, b := range all {
		moves = append(moves, b.moves...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return harness.Report(judge(t, moves))
}

// warm sends the program one message, which makes it busy.
func (t *trial) warm() error {
	c, err := harness.Dial(t.Addresses[wayTCP], nil)
	if err != nil {
		return err
	}
	m := messages{c}
	return errors.Join(m.ask(opState, 0, 0, 0, make([]byte, words*wordLen)), harness.Close(c))
}
