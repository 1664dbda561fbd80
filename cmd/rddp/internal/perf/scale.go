package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/extsock"
)

// With Options.Scale, a round opens the connections of one kind, leaves them idle, runs all jobs of
// that kind, and closes them before the next kind begins. So there are never more connections than
// in Options.Conns, and the time and memory of each kind can be measured separately.

// A crowd is all connections of one kind in one round, with their cost.
type crowd struct {
	ends    []*end
	closers []*closer
	open    *hdrhistogram.Histogram // time to open a connection
	opening time.Duration           // the sum
	opened  int                     // the number of connections opened in that time
	memory  [2]Memory               // of one idle connection, here and at the servers
}

// An idles contains the measurements of one kind of connection in all rounds.
type idles struct {
	lane    lane
	seconds []float64 // to open one connection
	ratios  []float64 // of that time to TCP's in the same round
	open    *hdrhistogram.Histogram
	memory  [2][]Memory
	beyond  [2][]Memory // the difference to plain TCP in the same round
}

// scaleJobs returns all jobs by their kind of connection. Plain TCP is first.
func (o *Options) scaleJobs() (all [][]job) {
	var lanes []lane
	add := func(l lane, jobs ...job) {
		i := slices.Index(lanes, l)
		if i < 0 {
			i, lanes, all = len(lanes), append(lanes, l), append(all, nil)
		}
		all[i] = append(all[i], jobs...)
	}
	add(lane{over: overTCP})
	for _, size := range o.groups() {
		jobs := o.jobs(size)
		for _, j := range slices.Concat(o.references(size, jobs), jobs) {
			add(laneOf(j), j)
		}
	}
	return all
}

// scale measures all jobs and the cost of the connections, with m.conns connections.
func (m *meter) scale(ctx context.Context) (out []Idle, err error) {
	if err := m.checkFiles(1); err != nil {
		return nil, err
	}
	kinds := m.o.scaleJobs()
	all := make(map[job]*series)
	idle := make([]*idles, len(kinds))
	for i, jobs := range kinds {
		idle[i] = &idles{open: newHistogram()}
		if i > 0 { // the first one, plain TCP, may have no jobs
			idle[i].lane = laneOf(jobs[0])
		} else {
			idle[i].lane = lane{over: overTCP}
		}
		for _, j := range jobs {
			all[j] = &series{job: j, times: newHistogram()}
			m.series = append(m.series, all[j])
		}
	}
	defer func() {
		for _, i := range idle {
			if rounds := len(i.seconds); rounds > 0 {
				out = append(out, i.result(m.conns, rounds))
			}
		}
	}()
	return nil, m.rounds(all, func(reverse bool) (enter func(), err error) {
		crowds, outcomes, err := m.scaleRound(ctx, kinds, idle, all, reverse)
		return func() { m.enterRound(crowds, outcomes, idle) }, err
	})
}

// scaleRound measures each kind of connection once, the last kind first if reverse is set.
func (m *meter) scaleRound(ctx context.Context, kinds [][]job, idle []*idles, all map[job]*series, reverse bool) (crowds []*crowd, outcomes []outcome, err error) {
	crowds = make([]*crowd, len(kinds))
	order := make([]int, len(kinds))
	for i := range order {
		order[i] = i
	}
	if reverse {
		slices.Reverse(order)
	}
	for _, i := range order {
		m.progress(fmt.Sprintf("opening %d connections: %s", m.conns, idle[i].lane.over))
		if crowds[i], err = m.gather(ctx, idle[i].lane); err != nil {
			return nil, nil, err
		}
		for _, j := range kinds[i] {
			o, err := m.scaleRun(ctx, all[j], crowds[i])
			if err != nil {
				m.disperse(ctx, crowds[i])
				return nil, nil, &RunError{j.String(), err}
			}
			outcomes = append(outcomes, o)
		}
		if err := m.disperse(ctx, crowds[i]); err != nil {
			return nil, nil, err
		}
	}
	return crowds, outcomes, nil
}

// scaleRun runs a job once. The first time, it also determines the number of operations in a run.
func (m *meter) scaleRun(ctx context.Context, s *series, c *crowd) (o outcome, err error) {
	if s.count == 0 {
		m.progress("calibrating " + s.job.String())
		if s.count, err = m.calibrate(ctx, s.job, c.ends); err != nil {
			return o, err
		}
		s.count = max(s.count, leastCount)
	}
	m.progress(s.job.String())
	r, err := m.measure(ctx, s.job, c.ends, s.count)
	m.done++
	return outcome{series: s, run: r}, err
}

// leastCount is the minimum number of operations on each of many connections in a run. A run also
// begins and ends with a message on each connection, which should not dominate the run.
const leastCount = 16

// enterRound records the measurements of a round. Ratios are relative to TCP in the same round.
func (m *meter) enterRound(crowds []*crowd, outcomes []outcome, idle []*idles) {
	runs := make(map[job]*run)
	for i := range outcomes {
		runs[outcomes[i].series.job] = &outcomes[i].run
	}
	for _, o := range outcomes {
		if j := o.series.job; j.over != overTCP {
			q := o.run.to(runs[j.reference()])
			o.ratio = &q
		}
		o.enter()
	}
	tcp := crowds[0]
	for i, c := range crowds {
		d := idle[i]
		d.seconds = append(d.seconds, c.seconds())
		d.open.Merge(c.open)
		for at := range c.memory {
			d.memory[at] = append(d.memory[at], c.memory[at])
			d.beyond[at] = append(d.beyond[at], c.memory[at].minus(tcp.memory[at]))
		}
		if i > 0 {
			d.ratios = append(d.ratios, c.seconds()/tcp.seconds())
		}
	}
}

// seconds returns the mean time to open a connection.
func (c *crowd) seconds() float64 { return c.opening.Seconds() / float64(c.opened) }

// gather opens all connections of one kind, one after another, uses each, and measures their memory
// when they are idle.
func (m *meter) gather(ctx context.Context, l lane) (c *crowd, err error) {
	c = &crowd{open: newHistogram()}
	defer func() {
		if err != nil {
			m.disperse(ctx, c)
		}
	}()
	h := &hello{
		Transport: l.over, CRC: l.crc, Ring: max(m.o.ringOf(m.conns), headLen), RecvSize: l.recv, Depth: m.o.deepest(), Timeout: m.o.Timeout,
		Congestion: m.o.Congestion, Buffer: m.o.Buffer,
	}
	share := (max(m.conns, leastOpened) + len(m.servers) - 1) / len(m.servers)
	addresses := make([]string, len(m.servers))
	for i, s := range m.servers {
		a, err := ask(s.c, command{Open: &opening{*h, share}}, m.o.Timeout)
		if err != nil {
			return c, err
		}
		addresses[i] = a.Address
	}
	before, err := m.memory()
	if err != nil {
		return c, err
	}
	conns, err := c.dial(ctx, m.o, h, addresses, m.conns)
	if err != nil {
		return c, err
	}
	for _, conn := range conns {
		if err := tune(conn, h.Congestion, h.Buffer); err != nil {
			return c, err
		}
		e, err := openedEnd(conn, h, true, true)
		if err != nil {
			return c, err
		}
		c.ends = append(c.ends, e)
	}
	conns = nil //nolint:ineffassign,wastedassign // the memory is measured next
	if err := m.runAll(ctx, head{kind: kindEcho, depth: 1, count: warmUp, size: m.o.Sizes[0]}, c.ends); err != nil {
		return c, err
	}
	for i, e := range c.ends {
		e.SetDeadline(time.Time{})
		e.times = m.times.of(i) // the latencies so far do not belong to a run
	}
	after, err := m.memory()
	for i := range c.memory {
		c.memory[i] = after[i].minus(before[i]).per(m.conns)
	}
	if err == nil {
		err = m.collapse(ctx)
	}
	return c, err
}

// warmUp is the number of echoes after which a connection has allocated everything that it
// allocates on first use.
const warmUp = 8

// leastOpened is the minimum number of connections that are opened to measure the time. If fewer
// are needed, the first ones are closed again.
const leastOpened = 64

// dial opens n connections, one after another.
func (c *crowd) dial(ctx context.Context, o *Options, h *hello, addresses []string, n int) (conns []net.Conn, err error) {
	open := dialer(o, h)
	var more []*closer
	defer func() { closeAll(more) }()
	for i := range max(n, leastOpened) {
		begin := time.Now()
		conn, err := open(ctx, addresses[i%len(addresses)])
		d := time.Since(begin)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i+1, err)
		}
		c.opening, c.opened = c.opening+d, c.opened+1
		_ = c.open.RecordValue(min(int64(d), maxLatency)) // the value is in range
		if i < leastOpened-n {
			more = append(more, &closer{c: conn})
			continue
		}
		c.closers = append(c.closers, &closer{c: conn})
		conns = append(conns, conn)
	}
	return conns, nil
}

// dialer returns a function that opens a connection with the parameters in h.
func dialer(o *Options, h *hello) func(ctx context.Context, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: h.Timeout, Control: beginWith(h.Congestion)}
	if h.Transport == overTCP {
		return func(ctx context.Context, address string) (net.Conn, error) {
			c, err := plain.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			secured, err := secure(ctx, c, o, address)
			if err != nil {
				c.Close()
				return nil, err
			}
			return secured, nil
		}
	}
	cfg := h.config()
	cfg.TLS = o.TLS
	ddp := &extsock.Dialer{NetDialer: *plain, Config: cfg}
	return func(ctx context.Context, address string) (net.Conn, error) {
		c, err := ddp.DialDDP(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// disperse closes the connections of a crowd at both ends, and waits until all their memory is
// released. Otherwise memory released later would falsify the measurement of the next crowd.
func (m *meter) disperse(ctx context.Context, c *crowd) (err error) {
	closeAll(c.closers)
	defer func() {
		for _, k := range c.closers {
			k.over(ctx)
		}
		c.ends, c.closers = nil, nil
	}()
	for _, s := range m.servers {
		_, e := ask(s.c, command{Shut: true}, m.o.Timeout)
		err = errors.Join(err, e)
	}
	return err
}

// memory returns the memory of this process and that of all servers together. It returns zeros if
// there are too few connections to tell, because garbage collections would only disturb the
// following runs.
func (m *meter) memory() (both [2]Memory, err error) {
	if m.conns < memoryConns {
		return both, nil
	}
	both[0] = memoryNow()
	for _, s := range m.servers {
		a, err := ask(s.c, command{Memory: true}, m.o.Timeout)
		if err != nil {
			return both, err
		}
		if a.Memory == nil {
			return both, ErrProtocol
		}
		both[1] = both[1].plus(*a.Memory)
	}
	return both, nil
}
