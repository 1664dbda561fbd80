package perf

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// A client is this end of all connections of one measurement.
type client struct {
	o       *Options
	conns   int // data connections of each lane
	servers []*remote
	ends    map[lane][]*end
	times   *recorders
	closers map[lane][]*closer
}

// A lane is a kind of data connection.
type lane struct {
	over transport
	crc  bool
	recv int // bytes of a receive buffer, over verbs
}

// laneOf returns the lane of a job. Messages need receive buffers of their size. If the default
// size is enough, the connection uses it, as a program would.
func laneOf(j job) lane {
	switch j.over {
	case overTCP:
		return lane{over: overTCP}
	case overStream:
		return lane{over: overStream, crc: j.crc}
	}
	return lane{overVerbs, j.crc, max(j.size, defaultRecv)}
}

// defaultRecv is the default of extsock.Config.RecvSize.
const defaultRecv = 64 << 10

// A remote is one of the servers, with its control connection.
type remote struct {
	address string
	c       net.Conn
	token   string
	hasCPU  bool
	files   uint64 // the number of files that the server may open; 0 if unknown
}

// connect opens the control connections of a client that will have conns data connections at a
// time.
func connect(ctx context.Context, o *Options, conns int) (*client, error) {
	c := &client{o: o, conns: conns, ends: make(map[lane][]*end), closers: make(map[lane][]*closer), times: newRecorders(conns)}
	for _, address := range o.Addresses {
		var cpu *int
		if o.OneCPU {
			cpu = &o.CPU
		}
		conn, a, err := c.open(ctx, address, &hello{CPU: cpu})
		if err != nil {
			c.close()
			return nil, fmt.Errorf("connecting to %s: %w", address, errtext.Brief(err))
		}
		c.servers = append(c.servers, &remote{address, conn, a.Token, a.HasCPU, a.Files})
	}
	return c, nil
}

// open opens a connection and says hello.
func (c *client) open(ctx context.Context, address string, h *hello) (net.Conn, answer, error) {
	d := net.Dialer{Timeout: c.o.Timeout, Control: beginWith(c.o.Congestion)}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, answer{}, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	h.Congestion, h.Buffer = c.o.Congestion, c.o.Buffer
	err = tune(conn, h.Congestion, h.Buffer)
	if err == nil {
		conn, err = secure(ctx, conn, c.o, address)
	}
	var a answer
	if err == nil {
		a, err = ask(conn, h, c.o.Timeout)
	}
	if err != nil {
		conn.Close()
		return nil, a, err
	}
	return conn, a, nil
}

// secure puts TLS over a connection to address, if the options have a TLS configuration.
func secure(ctx context.Context, c net.Conn, o *Options, address string) (net.Conn, error) {
	if o.TLS == nil {
		return c, nil
	}
	cfg := o.TLS
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName = tlshandshake.NameAt(address)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	t := tls.Client(belowTLS(c), cfg)
	return t, tlshandshake.Client(ctx, t)
}

// belowTLS returns the net.Conn on which to run TLS for an accepted or dialed connection. With it,
// an extended socket over the *tls.Conn never makes TLS wait, as with Dial and Listen. A connection
// that is not a *net.TCPConn is returned unchanged.
func belowTLS(c net.Conn) net.Conn {
	if t, ok := c.(*net.TCPConn); ok {
		return netconn.ForTLS(kernel.New(t))
	}
	return c
}

// close closes all connections, and waits until the servers have ended the session, because the
// next client may need the servers for itself.
func (c *client) close() {
	c.leave(nil)
	for _, s := range c.servers {
		s.end()
	}
}

// end ends the session. The server then closes the control connection.
func (s *remote) end() {
	defer s.c.Close()
	half, ok := s.c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || s.c.SetReadDeadline(time.Now().Add(helloTime)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, s.c) // an error ends the session as well
}

// lane returns the connections for a job, and opens them if there are none.
func (c *client) lane(ctx context.Context, j job) ([]*end, error) {
	l := laneOf(j)
	if ends := c.ends[l]; ends != nil {
		return ends, nil
	}
	ends := make([]*end, c.conns)
	for i := range ends {
		s := c.servers[i%len(c.servers)]
		h := &hello{
			Token: s.token, Transport: l.over, CRC: l.crc, Ring: max(c.o.ringOf(c.conns), headLen), RecvSize: l.recv,
			Depth: c.o.deepest(), Timeout: c.o.Timeout, Reverse: c.o.reverse(), ReadData: c.o.ReadData, PollTime: c.o.PollTime,
		}
		conn, _, err := c.open(ctx, s.address, h)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i+1, err)
		}
		k := &closer{c: conn}
		c.closers[l] = append(c.closers[l], k)
		if ends[i], err = newEnd(ctx, conn, h, true, k); err != nil {
			return nil, fmt.Errorf("connection %d: %w", i+1, err)
		}
		ends[i].times = c.times.of(i)
	}
	c.ends[l] = ends
	return ends, c.collapse(ctx)
}

// collapse moves the heaps of all processes into huge pages, if the options ask for it.
func (c *client) collapse(ctx context.Context) error {
	if !c.o.HugePages {
		return nil
	}
	if _, err := extsock.CollapseHeap(ctx); err != nil {
		return err
	}
	for _, s := range c.servers {
		if _, err := ask(s.c, command{Collapse: true}, c.o.Timeout); err != nil {
			return err
		}
	}
	return nil
}

// leave closes the connections of all lanes that jobs do not need.
func (c *client) leave(jobs []job) {
	for l := range c.closers {
		if !slices.ContainsFunc(jobs, func(j job) bool { return laneOf(j) == l }) {
			c.closeLane(l)
		}
	}
}

func (c *client) closeLane(l lane) {
	closeAll(c.closers[l])
	delete(c.closers, l)
	delete(c.ends, l)
}

// closeAll closes connections, all at the same time.
func closeAll(closers []*closer) {
	var all sync.WaitGroup
	for _, k := range closers {
		all.Go(k.close)
	}
	all.Wait()
}

// A run is what one run has measured, over all connections together.
type run struct {
	elapsed time.Duration
	ops     int     // operations
	here    cpuTime // of this process
	there   cpuTime // of the servers
	hasCPU  bool
	paused  bool // the run has pauses
	times   *hdrhistogram.Histogram
}

// measure runs a job once, with count operations on each connection.
func (c *client) measure(ctx context.Context, j job, ends []*end, count int) (r run, err error) {
	h := head{kind: j.kind, batch: j.batch, latency: j.isLatency(), depth: j.depth, count: count, size: j.size, pause: j.pause}
	for _, s := range c.servers {
		if _, err := ask(s.c, command{Begin: true}, c.o.Timeout); err != nil {
			return r, err
		}
	}
	before, has := processTime()
	begin := time.Now()
	err = c.runAll(ctx, h, ends)
	r.elapsed = time.Since(begin)
	after, _ := processTime()
	if err != nil {
		return r, err
	}
	r.ops, r.paused, r.here, r.hasCPU, r.times = count*len(ends), j.pause > 0, after.minus(before), has, c.times.take()
	for _, s := range c.servers {
		a, err := ask(s.c, command{}, c.o.Timeout)
		if err != nil {
			return r, err
		}
		r.there = r.there.plus(a.CPU)
		r.hasCPU = r.hasCPU && s.hasCPU
		if len(a.Histogram) > 0 {
			h, err := hdrhistogram.Decode(a.Histogram)
			if err != nil {
				return r, errors.Join(ErrProtocol, err)
			}
			r.times.Merge(h)
		}
	}
	return r, nil
}

// runAll takes part in one run on all connections at the same time.
func (c *client) runAll(ctx context.Context, h head, ends []*end) error {
	errs := make([]error, len(ends))
	var all sync.WaitGroup
	for i, e := range ends {
		all.Go(func() {
			errs[i] = e.start(ctx, h, !c.o.reverse())
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}

// start sends the head of a run and takes part in it.
func (e *end) start(ctx context.Context, h head, active bool) error {
	e.SetDeadline(time.Now().Add(e.timeout))
	e.head = h.appendTo(e.head[:0])
	if _, err := e.Write(e.head); err != nil {
		return err
	}
	if err := e.run(ctx, h, active); err != nil {
		return err
	}
	if active {
		return nil
	}
	return e.await(signOver)
}

// calibrate returns the number of operations on each connection that take about the time of a run.
func (c *client) calibrate(ctx context.Context, j job, ends []*end) (count int, err error) {
	return fit(j.depth, c.o.Time, func(count int) (time.Duration, error) {
		r, err := c.measure(ctx, j, ends, count)
		return r.elapsed, err
	})
}

// fit returns the number of operations that take about as long as want, starting from the guess
// count. It repeats a run that seems long enough and uses the shorter time, because a few
// operations delayed by the scheduler look like many.
func fit(count int, want time.Duration, run func(count int) (time.Duration, error)) (int, error) {
	for range maxTries {
		elapsed, err := run(count)
		if err == nil && (elapsed >= want/4 || count == maxCount) {
			var again time.Duration
			again, err = run(count)
			elapsed = min(elapsed, again)
		}
		if err != nil {
			return 0, err
		}
		if elapsed >= want/4 || count == maxCount {
			return scale(count, want, elapsed), nil
		}
		count = min(scale(count, want/2, elapsed), count*100)
	}
	return count, nil
}

// maxTries is the maximum number of counts that fit tries. Each is at most 100 times the previous
// one.
const maxTries = 12

// scale returns count times want/got, between 1 and maxCount.
func scale(count int, want, got time.Duration) int {
	f := float64(count) * float64(want) / float64(max(got, 1))
	return int(min(max(f, 1), maxCount))
}
