package proxy

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// bufferSize is the number of bytes that a pipe moves at a time, in each direction.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// drainTimeout is how long one direction of a pipe may continue after the other has failed.
const drainTimeout = 5 * time.Second

// A pipe carries octets between two ends, in both directions.
//
//	a Read fails       both ends are aborted: nothing more can come of them
//	a Write fails      this direction stops; the other one still forwards the data that the peer
//	                   sent before the failure, which a Read sees too
//	a Read sees EOF    the other end's direction is ended; the opposite one continues
//
// When both directions are over without a failure, the ends are closed.
type pipe struct {
	from     side           // the accepted one
	to       side           // the dialed one
	there    direction      // from → to
	back     direction      // to → from
	total    *directions    // the sums of all pipes
	heard    func()         // called when the first byte, or the end, has arrived from from
	begin    time.Time      // the start of the time in moved
	moved    atomic.Int64   // the time of the last transfer, in ns after begin
	stopping chan struct{}  // closed when one direction has failed
	once     sync.Once      // closes stopping
	ways     sync.WaitGroup // directions that have not ended

	mu locks.Mutex[locks.Leaf]
	// the first error
	err error // +checklocks:mu
}

// A side is an end and its name.
type side struct {
	end
	name string
}

// A direction counts the bytes passed on.
type direction struct{ octets atomic.Int64 }

// directions are the two directions of a pipe, or the sums of all pipes.
type directions struct{ there, back direction }

func newPipe(from, to side, total *directions, heard func()) *pipe {
	return &pipe{from: from, to: to, total: total, heard: heard, begin: time.Now(), stopping: make(chan struct{})}
}

// run moves bytes until both directions are over or ctx is done, and closes both ends. It returns
// the first error. If no byte moves for idle, the pipe ends; an idle of zero means no limit.
func (p *pipe) run(ctx context.Context, idle time.Duration) error {
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { p.watch(ctx, idle, over) })
	p.ways.Go(func() { p.carry(p.from, p.to, func() {}, &p.back, &p.total.back) })
	p.carry(p.to, p.from, sync.OnceFunc(p.heard), &p.there, &p.total.there)
	p.ways.Wait()
	if p.why() == nil {
		p.close()
	}
	close(over)
	watcher.Wait()
	if p.why() != nil {
		p.abort()
	}
	return p.why()
}

// carry copies bytes from src to dst, until the end of that direction. It calls heard when bytes or
// the end arrive.
func (p *pipe) carry(dst, src side, heard func(), counts ...*direction) {
	b := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(b)
	for {
		n, err := src.Read(b[:])
		if n > 0 || errors.Is(err, io.EOF) { // an empty message in DDP mode carries nothing
			heard()
		}
		if n > 0 {
			n, werr := dst.Write(b[:n])
			for _, c := range counts {
				c.octets.Add(int64(n))
			}
			p.moved.Store(int64(time.Since(p.begin)))
			if werr != nil {
				p.stop(fail(werr, "writing to %s", dst.name))
				return
			}
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			p.fail(fail(err, "reading from %s", src.name))
			return
		case !src.orderly():
			p.fail(fail(io.ErrUnexpectedEOF, "reading from %s", src.name))
			return
		default:
			if err := dst.CloseWrite(); err != nil {
				p.stop(fail(err, "ending the way to %s", dst.name))
			}
			return
		}
	}
}

// stop ends one direction. The other direction has drainTimeout left.
func (p *pipe) stop(err error) {
	p.note(err)
	p.once.Do(func() { close(p.stopping) })
}

// fail ends both directions.
func (p *pipe) fail(err error) {
	p.note(err)
	p.abort()
}

func (p *pipe) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *pipe) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// abort ends both ends in such a way that neither peer sees an orderly end. The ends do not wait
// for each other.
func (p *pipe) abort() {
	var other sync.WaitGroup
	other.Go(p.to.abort)
	p.from.abort()
	other.Wait()
}

// close closes both ends after both directions have ended.
func (p *pipe) close() {
	for _, s := range []side{p.from, p.to} {
		if err := s.Close(); err != nil {
			p.note(fail(err, "closing the connection with %s", s.name))
		}
	}
}

// watch ends the pipe when ctx is done or a timeout has passed.
func (p *pipe) watch(ctx context.Context, idle time.Duration, over <-chan struct{}) {
	var silent, drained <-chan time.Time
	timer := time.NewTimer(idle)
	defer timer.Stop()
	if idle > 0 {
		silent = timer.C
	}
	stopping := p.stopping
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			p.fail(context.Cause(ctx))
			return
		case <-stopping:
			t := time.NewTimer(drainTimeout)
			defer t.Stop()
			stopping, drained = nil, t.C
		case <-drained:
			p.abort()
			return
		case <-silent:
			left := idle - (time.Since(p.begin) - time.Duration(p.moved.Load()))
			if left <= 0 {
				p.fail(ErrIdle)
				return
			}
			timer.Reset(left)
		}
	}
}
