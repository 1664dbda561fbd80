package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// The Writes of a trial. Each Write goes to the slot after that of the previous Write, and the
// first slot follows the last. So no slot is written twice within a window of TCP.
const (
	writeSize = 16 << 10
	depth     = 4   // Writes under way
	slots     = 256 // of the Region
)

// The initial sizes in bytes of TCP's buffers. TCP enlarges them as the window grows.
const sendBuffer, receiveBuffer = 256 << 10, 256 << 10

// patience is how long a trial may take beyond its time.
const patience = 30 * time.Second

// A network is a link of the study. Its losses are probabilities.
type network struct {
	name        string
	file        string // beginning of the file names of its plots
	rate        int64  // bits per second
	delay       time.Duration
	split       float64 // probability that a segment is cut in pieces
	losses      []float64
	connections []int // nil means 1
}

var networks = []network{
	{name: "100 Mb/s, 10 ms each way", file: "early-100m", rate: 100e6, delay: 10 * time.Millisecond, losses: []float64{0, 0.001, 0.005, 0.01, 0.02, 0.05}},
	{name: "1 Gb/s, 1 ms each way", file: "early-1g", rate: 1e9, delay: time.Millisecond, losses: []float64{0.001, 0.01, 0.05}},
	{name: "100 Mb/s, 10 ms each way, half of the segments cut in pieces on the way", file: "early-cut", rate: 100e6, delay: 10 * time.Millisecond,
		split: 0.5, losses: []float64{0.01, 0.05}},
	{name: "100 Mb/s, 10 ms each way, many connections", file: "early-many", rate: 100e6, delay: 10 * time.Millisecond,
		losses: []float64{0.01}, connections: []int{1, 4, 16, 64}},
}

// counts returns the numbers of connections.
func (n *network) counts() []int {
	if n.connections == nil {
		return []int{1}
	}
	return n.connections
}

// faults returns the faults of the direction of the data. The queue is never full.
func (n network) faults(loss float64) badlink.Faults {
	return badlink.Faults{Loss: loss, Split: n.split, Rate: n.rate, Delay: n.delay, Queue: 1 << 20}
}

// A trial is a number of connections with one kind of receiver.
type trial struct {
	network
	connections int
	loss        float64
	early       bool // early placement
	seed        uint64
	time        time.Duration
	least       int // Writes of each connection, however long they take
}

// An outcome is the result of a trial.
type outcome struct {
	result
	stats stats.Counts // of the receivers
	emss  int          // bytes
}

// run runs the trial.
func (t trial) run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.time+patience)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, loss %v, early placement %t, seed %d: %w", t.name, t.loss, t.early, t.seed, err)
		}
	}()
	x, y, err := badlink.Pipe(badlink.Config{Seed: t.seed, AB: t.faults(t.loss), BA: badlink.Faults{Rate: t.rate, Delay: t.delay, Queue: 1 << 20}})
	if err != nil {
		return o, err
	}
	wire := newWire(time.Now())
	from, err := newStack(departures{x, wire}, "10.0.0.1/24")
	if err != nil {
		return o, err
	}
	defer from.Close()
	to, err := newStack(arrivals{y, wire}, receiver+"/24")
	if err != nil {
		return o, err
	}
	defer to.Close()
	pairs, err := t.connect(ctx, from, to, wire.begin)
	for _, p := range pairs {
		defer p.close()
	}
	if err == nil {
		err = each(len(pairs), func(i int) error { return pairs[i].write(ctx, t.time, t.least) })
	}
	if err != nil {
		return o, err
	}
	return t.outcome(pairs, wire), nil
}

// receiver is the address of the Stack that receives.
const receiver = "10.0.0.2"

func newStack(l usertcp.Link, address string) (*usertcp.Stack, error) {
	return usertcp.New(l, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}, SendBuffer: sendBuffer, ReceiveBuffer: receiveBuffer})
}

// connect makes the connections from one Stack to the other, and switches them to DDP mode. With an
// error, it returns the connections made so far.
func (t trial) connect(ctx context.Context, from, to *usertcp.Stack, begin time.Time) (pairs []*pair, err error) {
	l, err := to.Listen(ctx, "tcp", receiver+":7174")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	n := max(1, t.connections)
	streams := make([]toe.Stream, n)
	if err := each(n, func(i int) (err error) {
		streams[i], err = from.Dial(ctx, "tcp", l.Addr().String())
		return err
	}); err != nil {
		return nil, err
	}
	dialed := make(map[uint16]toe.Stream)
	for _, s := range streams {
		dialed[portOf(s.LocalAddr())] = s
	}
	for range n {
		s, err := l.Accept()
		if err != nil {
			return pairs, err
		}
		s.(*usertcp.Stream).ShowEarly(t.early)
		pairs = append(pairs, newPair(dialed[portOf(s.RemoteAddr())], s, begin))
	}
	return pairs, each(n, func(i int) error { return pairs[i].start(ctx) })
}

func portOf(a net.Addr) uint16 { return uint16(a.(*net.TCPAddr).Port) }

// each calls f for the numbers below n, all at once, and returns one of the errors.
func each(n int, f func(i int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(i) }()
	}
	var first error
	for range n {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// outcome returns the result of the trial. The window begins after the first quarter of the time,
// in which slow start is over and its losses are repaired. It ends when the first connection has
// posted its last Write.
func (t trial) outcome(pairs []*pair, wire *wire) (o outcome) {
	begin := pairs[len(pairs)-1].begun
	w := window{begin + t.time/4, pairs[0].ended}
	for _, p := range pairs {
		w.end = min(w.end, p.ended)
	}
	var lines []*timeline
	for _, p := range pairs {
		arrivals := wire.arrivals(portOf(p.sending.LocalAddr()), p.sending.startup.Load())
		lines = append(lines, p.record.follow(arrivals, w))
		stats := p.to.Stats()
		addStats(&o.stats, &stats)
		o.emss = p.sending.EMSS()
	}
	o.result = evaluate(lines, w)
	return o
}
