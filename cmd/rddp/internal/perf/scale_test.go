package perf

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// Every kind of connection is opened in each round, over two servers, and each result has its
// figures.
func TestRunScale(t *testing.T) {
	o := &Options{
		Addresses: []string{startPeer(t), startPeer(t)}, Scale: true, Ops: []string{"echo", "message", "write", "stream"}, Sizes: []int{64},
		Depths: []int{2}, Posts: []string{PostBatch}, Conns: []int{2, memoryConns}, Rounds: testmode.Rounds(2, 1), Time: time.Millisecond,
		Ring: 1 << 20,
	}
	runs := 0
	o.Progress = func(done, total int, _ string) { runs = max(runs, total-done) }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// 2 numbers of connections: 2 references, and 4 operations.
	if want := 2 * (2 + 4); len(r.Results) != want || runs != want*o.Rounds {
		t.Errorf("%d results, want %d; %d runs", len(r.Results), want, runs)
	}
	for i := range r.Results {
		v := &r.Results[i]
		op, _ := operationOf(v.Op)
		if v.MsgsPerS <= 0 || v.BytesPerS <= 0 || (v.RatioToTCP > 0) != (op.over != overTCP) || (v.Lat != nil) != op.kind.answered() {
			t.Errorf("%+v", v)
		}
	}
	var kinds []string
	for i := range r.Idles {
		v := &r.Idles[i]
		tcp := v.Over == string(overTCP)
		kinds = append(kinds, v.Over+v.CRC)
		if v.OpenUS <= 0 || v.OpenLat == nil || v.OpenLat.P50 <= 0 || (v.OpenRatio > 0) == tcp || (len(v.OpenSpread) == 2) == tcp {
			t.Errorf("%+v lacks figures of opening", v)
		}
		many := v.Conns == memoryConns
		if (v.Here != nil) != many || (v.There != nil) != many || (v.HereBeyond != nil) != (many && !tcp) || (v.ThereBeyond != nil) != (many && !tcp) {
			t.Errorf("%d connections: %+v", v.Conns, v)
		}
		// Half, because either process may have released other memory in the meantime.
		if ring := float64(o.Ring / memoryConns); many && (v.Here.Heap < ring/2 || v.There.Heap < ring/2) {
			t.Errorf("memory of a connection: %+v here, %+v there, of which the ring takes %v", v.Here, v.There, ring)
		}
	}
	if want := []string{"tcp", "streamon", "verbson"}; !slices.Equal(kinds, slices.Concat(want, want)) {
		t.Errorf("kinds %q, want %q twice", kinds, want)
	}
}

// Plain TCP is always included, because the time to open connections is compared with it.
func TestScaleJobs(t *testing.T) {
	o := complete(t, &Options{Scale: true})
	var got []string
	for _, jobs := range o.scaleJobs() {
		for _, j := range jobs {
			got = append(got, string(laneOf(j).over)+": "+j.String())
		}
	}
	if want := []string{"tcp: tcp-echo of 1024 bytes", "stream: echo of 1024 bytes, CRC on"}; !slices.Equal(got, want) {
		t.Errorf("jobs %q, want %q", got, want)
	}
	if o.Rounds != 3 || o.Time != 2*time.Second || !slices.Equal(o.Conns, []int{1, 16, 64, 256, 1000, 4000, 10_000}) {
		t.Errorf("defaults: %+v", o)
	}
}

func TestMedianMemory(t *testing.T) {
	got := medianMemory([]Memory{{1, 20, 300}, {2, 10, 100}, {3, 30, 200}})
	if want := (Memory{2, 20, 200}); got != want {
		t.Errorf("median %+v, want %+v", got, want)
	}
	if got, want := (Memory{10, 20, 30}).minus(Memory{2, 4, 6}).per(2).plus(Memory{1, 1, 1}), (Memory{5, 9, 13}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A server refuses doors beyond its limits.
func TestDoorLimits(t *testing.T) {
	address := startPeer(t)
	good := opening{hello{Transport: overTCP, Ring: headLen, Depth: 1, Timeout: time.Second}, 1}
	tests := []struct {
		desc   string
		change func(o *opening)
	}{
		{"no connection", func(o *opening) { o.Conns = 0 }},
		{"too many connections", func(o *opening) { o.Conns = MaxConns + 1 }},
		{"too much memory", func(o *opening) { o.Conns, o.Hello.Ring = MaxConns, MaxRing }},
		{"too much work", func(o *opening) { o.Conns, o.Hello.Depth = MaxConns, MaxDepth }},
		{"too long messages", func(o *opening) { o.Conns, o.Hello.Transport, o.Hello.RecvSize = 33, overVerbs, MaxSize }},
		{"no transport", func(o *opening) { o.Hello.Transport = "" }},
		{"no memory", func(o *opening) { o.Hello.Ring = 0 }},
		{"no time", func(o *opening) { o.Hello.Timeout = 0 }},
	}
	for _, tt := range tests {
		c, err := connect(t.Context(), complete(t, &Options{Addresses: []string{address}}), 1)
		if err != nil {
			t.Fatal(err)
		}
		o := good
		tt.change(&o)
		refused := (*RefusedError)(nil)
		if _, err := ask(c.servers[0].c, command{Open: &o}, time.Minute); !errors.As(err, &refused) {
			t.Errorf("%s: %v", tt.desc, err)
		}
		c.close()
	}
}

// When a door is shut, its connections are closed and nobody listens. A second door replaces the
// first one, and the last one ends with the session. The door must have served each connection: its
// end of the connection then keeps the port in use. Otherwise another process could listen there
// and look like the door.
func TestDoorShuts(t *testing.T) {
	c, err := connect(t.Context(), complete(t, &Options{Addresses: []string{startPeer(t)}}), 1)
	if err != nil {
		t.Fatal(err)
	}
	control := c.servers[0].c
	closed := func(conn net.Conn, address string) {
		t.Helper()
		conn.SetReadDeadline(prototest.Deadline(t))
		if n, err := io.Copy(io.Discard, conn); n != 0 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if again, err := net.Dial("tcp", address); err == nil {
			again.Close()
			t.Errorf("the door at %s is open", address)
		}
		conn.Close()
	}
	open := func() (net.Conn, string) {
		t.Helper()
		h := hello{Transport: overTCP, Ring: headLen, Depth: 1, Timeout: maxTimeout}
		a, err := ask(control, command{Open: &opening{h, 2}}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", a.Address)
		if err != nil {
			t.Fatal(err)
		}
		e, err := openedEnd(conn, &h, true, true)
		if err == nil {
			err = e.start(t.Context(), head{kind: kindEcho, depth: 1, count: 1, size: 1}, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		return conn, a.Address
	}
	first, at := open()
	second, next := open()
	closed(first, at)
	if _, err := ask(control, command{Shut: true}, time.Minute); err != nil {
		t.Fatal(err)
	}
	closed(second, next)
	third, last := open()
	c.close()
	closed(third, last)
}

// TestDisperse: no background work for the connections of a crowd remains when the next crowd
// comes. Otherwise their memory would be subtracted from the memory of the next crowd's
// connections.
func TestDisperse(t *testing.T) {
	o := complete(t, &Options{Addresses: []string{startPeer(t)}, Scale: true, Ring: 1 << 20})
	c, err := connect(t.Context(), o, leastOpened)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	m := &meter{client: c, o: o}
	crowd, err := m.gather(t.Context(), lane{over: overVerbs, crc: true, recv: defaultRecv})
	if err != nil {
		t.Fatal(err)
	}
	ends := crowd.ends
	if err := m.disperse(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for i, e := range ends {
		if err := e.ddp.Wait(done); err != nil {
			t.Errorf("something works for connection %d", i)
		}
	}
}

// A file limit that is too low is an error before connections are opened.
func TestCheckFiles(t *testing.T) {
	tests := []struct {
		limit uint64
		conns int
		ok    bool
	}{
		{0, MaxConns, true}, // unknown
		{20_000, 10_000, true},
		{20_000, 20_000, false},
		{100, 100 - otherFiles, true},
		{100, 101 - otherFiles, false},
	}
	for _, tt := range tests {
		few := (*FileLimitError)(nil)
		if err := checkFiles("x", tt.limit, tt.conns); (err == nil) != tt.ok || !tt.ok && (!errors.As(err, &few) || few.Limit != tt.limit) {
			t.Errorf("checkFiles(%d, %d): %v", tt.limit, tt.conns, err)
		}
	}
	// All kinds of connections of one size are open at once, unless Scale is set.
	o := complete(t, &Options{Ops: []string{"echo", "write"}, CRC: []bool{true, false}, Sizes: []int{64, 128}})
	if n := o.lanes(); n != 5 {
		t.Errorf("%d kinds of connections at once, want 5", n)
	}
}
