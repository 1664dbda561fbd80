package trace

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// A Sink takes values from any goroutine, and writes them to a file in one of its own. Put does not
// wait: what comes faster than the file takes it is lost, and counted.
type Sink[T any] struct {
	out    io.Writer
	format func(b []byte, v *T) []byte
	queue  chan T
	weight func(v *T) int64 // in bytes; nil if the length of the queue is bound enough

	held    atomic.Int64  // the weight of what is in the queue
	put     atomic.Uint64 // how many have been put into the queue
	lost    atomic.Uint64 // how many had no room
	written atomic.Uint64 // how many are in the file
	putting atomic.Int64  // calls of Put under way
	closed  atomic.Bool
	stop    chan struct{}
	done    chan struct{} // closed when the goroutine has ended
	failed  error         // of the file, once done is closed
}

const (
	// batchLen is how many bytes are written at once.
	batchLen = 64 << 10
	// gather is how long the goroutine waits for more after it has written something: to wake it
	// costs the device more than to put a value into the queue.
	gather = 2 * time.Millisecond
	// lastWrite is how long Close waits for the file.
	lastWrite = 2 * time.Second
	// mostHeld bounds the weight of what is in the queue.
	mostHeld = 64 << 20
)

// newSink returns a Sink with room for n values.
func newSink[T any](out io.Writer, n int, weight func(*T) int64, format func([]byte, *T) []byte) *Sink[T] {
	s := &Sink[T]{out: out, format: format, queue: make(chan T, n), weight: weight, stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// Put takes a value, or counts it as lost. Once Close has been called, it does nothing.
func (s *Sink[T]) Put(v T) {
	s.putting.Add(1)
	defer s.putting.Add(-1)
	if s.closed.Load() {
		return
	}
	var w int64
	if s.weight != nil {
		if w = s.weight(&v); s.held.Add(w) > mostHeld {
			s.held.Add(-w)
			s.lost.Add(1)
			return
		}
	}
	select {
	case s.queue <- v:
		s.put.Add(1)
	default:
		s.held.Add(-w)
		s.lost.Add(1)
	}
}

// Lost returns how many values have been lost so far, before the file.
func (s *Sink[T]) Lost() uint64 { return s.lost.Load() }

// Close writes what is in the queue, if the file takes it soon, and ends the goroutine. It returns
// how many values are lost, and the first error of the file. A second call returns the same.
func (s *Sink[T]) Close() (lost uint64, err error) {
	if !s.closed.Swap(true) {
		close(s.stop)
	}
	select {
	case <-s.done:
		err = s.failed
	case <-time.After(lastWrite):
		err = errStuck
	}
	return s.lost.Load() + s.put.Load() - s.written.Load(), err
}

var errStuck = errors.New("nothing takes what is written to it")

// run writes what is put until the Sink is closed and its queue is empty.
func (s *Sink[T]) run() {
	defer close(s.done)
	b, n := s.format(nil, nil), uint64(0)
	for {
		for len(b) < batchLen {
			v, ok := s.take()
			if !ok {
				break
			}
			b = s.format(b, &v)
			n++
		}
		if n > 0 || len(b) > 0 {
			s.write(b, n)
			b, n = b[:0], 0
			continue
		}
		select {
		case <-s.stop:
			if s.putting.Load() == 0 && len(s.queue) == 0 {
				return
			}
			runtime.Gosched()
		case v := <-s.queue:
			b, n = s.format(b, s.weighed(&v)), 1
			s.pause()
		}
	}
}

// write writes n values to the file, unless it has failed.
func (s *Sink[T]) write(b []byte, n uint64) {
	if s.failed == nil && len(b) > 0 { // some events have no words
		_, s.failed = s.out.Write(b)
	}
	if s.failed == nil {
		s.written.Add(n)
	}
}

// pause waits for more values, unless the Sink is closed.
func (s *Sink[T]) pause() {
	t := time.NewTimer(gather)
	defer t.Stop()
	select {
	case <-s.stop:
	case <-t.C:
	}
}

// take takes a value from the queue, if there is one.
func (s *Sink[T]) take() (v T, ok bool) {
	select {
	case v = <-s.queue:
		s.weighed(&v)
		return v, true
	default:
		return v, false
	}
}

// weighed notes that v is not in the queue any more.
func (s *Sink[T]) weighed(v *T) *T {
	if s.weight != nil {
		s.held.Add(-s.weight(v))
	}
	return v
}

// A Spool is a file for packets. Each Write is one packet.
type Spool struct{ *Sink[[]byte] }

// NewSpool returns a Spool that writes to out.
func NewSpool(out io.Writer) Spool {
	return Spool{newSink(out, queued, func(p *[]byte) int64 { return int64(len(*p)) }, func(b []byte, p *[]byte) []byte {
		if p == nil {
			return b
		}
		return append(b, *p...)
	})}
}

// Write puts a copy of a packet into the queue. It does not fail.
func (s Spool) Write(p []byte) (int, error) {
	s.Put(slices.Clone(p))
	return len(p), nil
}

// Create returns a file of a name to write to, or standard error for "-". A pipe is opened by the
// first Write, which waits for a reader.
func Create(name string) (io.Writer, error) {
	if name == "-" {
		return os.Stderr, nil
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return &pipe{name: name}, nil
	}
	return os.Create(name)
}

// A pipe is a file that is opened when it is needed.
type pipe struct {
	name string
	file *os.File
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.file == nil {
		f, err := os.OpenFile(p.name, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		p.file = f
	}
	return p.file.Write(b)
}
