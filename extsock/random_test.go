package extsock_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// randomRounds calls round with one seed after the other: rounds times, or for as long as SOAKTIME
// says. A failure names its seed as RDDP_SEED, and with RDDP_SEED in the environment that seed
// comes first.
func randomRounds(t *testing.T, rounds int, round func(t *testing.T, seed uint64)) {
	rounds = testmode.Rounds(rounds, rounds/8)
	until, first := time.Now(), rand.Uint64()
	if s := os.Getenv("SOAKTIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("SOAKTIME: %v", err)
		}
		rounds, until = 0, until.Add(d)
	}
	if s := os.Getenv("RDDP_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &first); err != nil {
			t.Fatalf("RDDP_SEED: %v", err)
		}
	}
	n := 0
	for ; !t.Failed() && (n < rounds || time.Now().Before(until)); n++ {
		round(t, first+uint64(n))
	}
	t.Logf("%d rounds from RDDP_SEED=%d", n, first)
}

// oneOf returns one of the values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// A randomEnd is how a connection of a random test ends.
type randomEnd int

const (
	endCalm      randomEnd = iota // both ends send everything
	endClose                      // one end closes
	endReset                      // one end closes with a reset
	endBoth                       // both close at once
	endCloseRead                  // one end closes the way in, and then all
	endCloseWrite
	endTCP // TCP breaks
	randomEnds
)

func (e randomEnd) String() string {
	return [...]string{"no end", "Close", "a reset", "both Close", "CloseRead", "CloseWrite", "TCP breaks"}[e]
}

// A randomPair is a connection and the way in which it ends. Everything in it follows from the
// seed.
type randomPair struct {
	seed  uint64
	r     *rand.Rand
	kind  string // of the connection below: "simulator", "pipe" or "TCP"
	end   randomEnd
	ender int // the end, 0 or 1, that begins the end
	conns [2]*extsock.Conn
	below net.Conn
}

// withRandomPair makes a connection and calls f with it. Over the simulator and over net.Pipe it
// runs in a bubble, whose clock makes deadlines, timeouts and arrivals meet at the same moment.
// Over TCP the order of events is up to the scheduler.
func withRandomPair(t *testing.T, seed uint64, config func(r *rand.Rand) extsock.Config, f func(t *testing.T, x *randomPair)) {
	r := rand.New(rand.NewPCG(seed, 1))
	x := &randomPair{seed: seed, r: r, end: randomEnd(r.IntN(int(randomEnds))), ender: r.IntN(2)}
	x.kind = oneOf(r, "simulator", "simulator", "pipe", "TCP", "TCP", "TCP")
	limit := oneOf[int64](r, extsock.DefaultMemory, extsock.DefaultMemory, 0, 1<<20)
	defer extsock.SetMemoryLimit(extsock.SetMemoryLimit(limit))
	run := func(t *testing.T) {
		var a, b net.Conn
		switch x.kind {
		case "simulator":
			a, b = randomWire(r, seed)
		case "pipe":
			a, b = net.Pipe()
		case "TCP":
			a, b = kernelStreams(t)
		}
		x.below = a
		x.conns[0], x.conns[1] = switched(t, a, b, side{cfg: config(r)}, side{cfg: config(r)})
		stuck := time.AfterFunc(prototest.Patience(t), func() {
			t.Errorf("RDDP_SEED=%d: stuck: %v, %v", seed, x.kind, x.end)
			a.Close()
			b.Close()
		})
		f(t, x)
		stuck.Stop()
		for _, c := range x.conns {
			c.SetLinger(0)
			c.Close()
		}
		if x.kind != "TCP" {
			settle()
		}
	}
	if x.kind == "TCP" {
		run(t)
	} else {
		bubble(t, run)
	}
}

// randomWire makes a connection over the simulator.
func randomWire(r *rand.Rand, seed uint64) (a, b net.Conn) {
	wire := simtoe.Config{
		Seed: seed, Split: r.IntN(2) == 0, Early: oneOf(r, 0, 0.3), Window: oneOf(r, 0, 3000, 60_000),
		MaxSegment: oneOf(r, 0, 1000, 60_000), Delay: oneOf(r, 0, 100*time.Microsecond),
	}
	return simtoe.Pair(wire, wire)
}

// begin begins the end.
func (x *randomPair) begin() {
	c := x.conns[x.ender]
	switch x.end {
	case endClose:
		c.Close()
	case endReset:
		c.SetLinger(0)
		c.Close()
	case endBoth:
		go x.conns[1-x.ender].Close()
		c.Close()
	case endCloseRead:
		c.CloseRead()
	case endCloseWrite:
		c.CloseWrite()
	case endTCP:
		x.below.Close()
	}
}
