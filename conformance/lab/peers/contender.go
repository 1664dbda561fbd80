package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An operation is one in which contenders are compared.
type operation string

const (
	opWrite   operation = "write"
	opRead    operation = "read"
	opSend    operation = "send"
	opLatency operation = "latency"
	opStream  operation = "stream"
)

var operations = []operation{opWrite, opRead, opSend, opLatency, opStream}

// isTime reports whether the figures are seconds, of which less is better. Other figures are bytes
// per second.
func (op operation) isTime() bool { return op == opLatency }

// depth is the number of operations under way at once in the operations that measure throughput. It
// is the default window of ucx_perftest for ucp_put_bw and tag_bw.
const depth = 32

// A contender is one program with one operation.
type contender struct {
	name   string
	op     operation
	tool   *tool
	series []string // results of run
	modes  modes
	volume int // minimum number of bytes in each run, once the number of operations has been chosen
	most   int // the largest size with which the contender runs; 0 means that there is no limit
	run    func(ctx context.Context, b *bench, size int) (figures, error)
}

// modes are the modes in which a contender takes part.
type modes int

const (
	bothModes modes = iota
	allCPUs         // its processes poll, so on one CPU they would take time from each other
	oneCPU          // its processes sleep while they wait; with enough CPUs, polling is faster
)

// sleeps ends the name of a contender that polls unless it is told to sleep.
const sleeps = ", sleeping"

// figures are the measurements of a run, by the name of the series.
type figures map[string]float64

// The series of `rddp perf`. Their names appear in the tables.
const (
	plainTCP = "plain TCP in Go"
	noCRC    = ", CRC off"
	batch    = ", PostBatch"
	polls    = ", polling"
)

// pollTime is how long a Read of the series with polls looks for bytes before it sleeps. It is the
// maximum of `rddp perf`. The peers that poll never sleep.
const pollTime = "1ms"

// ours returns the contender for rddp itself, with its reference over plain TCP.
func ours(op operation, about map[string]string) *contender {
	c := &contender{name: "rddp " + string(op), op: op, tool: toolRDDP}
	for _, name := range about {
		c.series = append(c.series, name, name+noCRC)
		if op == opWrite {
			c.series = append(c.series, name+batch, name+batch+noCRC)
		}
	}
	c.series = append(c.series, plainTCP)
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) { return b.perf(ctx, c, about, size) }
	return c
}

// polling returns the contender for rddp itself when its Reads poll. Like the polling peers, it
// does not take part in the mode of one CPU.
func polling(op operation, about map[string]string) *contender {
	c := &contender{name: "rddp " + string(op) + polls, op: op, tool: toolRDDP, modes: allCPUs}
	named := make(map[string]string)
	for op, name := range about {
		named[op] = name + polls
		c.series = append(c.series, name+polls, name+polls+noCRC)
	}
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) {
		return b.perf(ctx, c, named, size, "--poll", pollTime)
	}
	return c
}

// isOurs reports whether the contender is rddp itself.
func (c *contender) isOurs() bool { return c.tool == toolRDDP }

// contenders returns all contenders of an operation. Those that are rddp come first.
func contenders(op operation) []*contender {
	switch op {
	case opWrite:
		return []*contender{
			ours(op, map[string]string{"write": "RDMA Write"}),
			ucx(op, "ucp_put_bw", allCPUs), rma(op, "writedata", allCPUs), rma(op, "write", allCPUs), rma(op, "write"+injected, allCPUs),
			ucx(op, "ucp_put_bw", oneCPU), rma(op, "writedata", oneCPU), rma(op, "write", oneCPU), rma(op, "write"+injected, oneCPU),
		}
	case opRead:
		return []*contender{ours(op, map[string]string{"read": "RDMA Read"}), ucx(op, "ucp_get", allCPUs), rma(op, "read", allCPUs), rma(op, "read", oneCPU)}
	case opSend:
		return []*contender{ours(op, map[string]string{"send": "Send"}), ucx(op, "tag_bw", allCPUs), ucx(op, "tag_bw", oneCPU)}
	case opLatency:
		return []*contender{
			ours(op, map[string]string{"message": "message", "echo": "byte stream"}),
			polling(op, map[string]string{"message": "message", "echo": "byte stream"}),
			ucx(op, "tag_lat", allCPUs), ucx(op, "tag_lat", bothModes), pingpong(),
		}
	case opStream:
		return []*contender{ours(op, map[string]string{"stream": "byte stream"}), iperf()}
	}
	panic("BUG: no contenders for " + string(op))
}

// perfRuns is the number of runs of `rddp perf` with all its calibrations, at most. Each has a
// deadline of its own.
const perfRuns = 40

// perf runs `rddp perf` once, with more options if there are any. about contains the name of the
// series for each of perf's operations.
func (b *bench) perf(ctx context.Context, c *contender, about map[string]string, size int, more ...string) (figures, error) {
	argv := []string{
		b.rddp, "perf", "--self", "--json", "--no-gate", "--rounds", "1", "--ring", "1m", "--crc", "on,off",
		"--time", b.time.String(), "--timeout", b.timeout.String(), "--size", strconv.Itoa(size), "--depth", strconv.Itoa(depth), "--op",
	}
	posts := "one"
	if c.op == opWrite {
		posts = "one,batch"
	}
	argv = append(argv, strings.Join(slices.Sorted(maps.Keys(about)), ","), "--post", posts)
	argv = append(argv, more...)
	ctx, cancel := context.WithTimeout(ctx, perfRuns*b.timeout)
	defer cancel()
	p, err := start(ctx, b.pinned(argv), nil)
	if err != nil {
		return nil, err
	}
	if err := p.wait(); err != nil {
		return nil, err
	}
	results, err := parsePerf(p.out.bytes())
	if err != nil {
		return nil, err
	}
	return c.perfFigures(about, size, results)
}

// perfFigures converts the results of `rddp perf` to the figures of all series of c.
func (c *contender) perfFigures(about map[string]string, size int, results []perfResult) (figures, error) {
	f := make(figures)
	for _, r := range results {
		name := plainTCP
		if r.CRC != "" {
			name = about[r.Op]
		}
		if name == "" || r.Size != size {
			return nil, wrongOutput("rddp perf", "a result of %s with %d bytes", r.Op, r.Size)
		}
		if r.Post == "batch" {
			name += batch
		}
		if r.CRC == "off" {
			name += noCRC
		}
		f[name] = r.MsgsPerS * float64(size)
		if c.op.isTime() {
			f[name] = 1 / r.MsgsPerS / 2 // perf's echo is a round trip
		}
	}
	for _, name := range c.series {
		if _, ok := f[name]; !ok {
			return nil, wrongOutput("rddp perf", "no result for %s", name)
		}
	}
	return f, nil
}

var ucxEnv = []string{"UCX_TLS=tcp", "UCX_NET_DEVICES=lo"}

// ucx returns the contender for one test of ucx_perftest. It sleeps if it takes part in the mode of
// one CPU. This does not work for ucp_get: its target sleeps and does not answer.
func ucx(op operation, test string, in modes) *contender {
	name, wait := "UCX "+test, "poll"
	if in != allCPUs {
		name, wait = name+sleeps, "sleep"
	}
	c := &contender{name: name, op: op, tool: toolUCX, series: []string{name}, modes: in}
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) {
		return b.counted(ctx, c, size, func(ctx context.Context, n int) (figures, float64, error) {
			client := []string{
				"ucx_perftest", "127.0.0.1", "-t", test, "-s", strconv.Itoa(size), "-n", strconv.Itoa(n), "-w", strconv.Itoa(n/10 + 1), "-E", wait, "-f", "-v",
			}
			if !op.isTime() {
				client = append(client, "-O", strconv.Itoa(depth))
			}
			p := pair{
				server: func(int) []string { return b.pinned([]string{"ucx_perftest", "-p", "0", "-E", wait}) },
				client: func(port int) []string { return b.pinned(append(client, "-p", strconv.Itoa(port))) },
				env:    ucxEnv,
			}
			_, out, err := p.run(ctx)
			if err != nil {
				return nil, 0, err
			}
			r, err := parseUCX(out)
			if op.isTime() {
				return figures{name: r.Latency}, 2 * r.Latency * float64(n), err
			}
			return figures{name: r.Rate * float64(size)}, float64(n) / max(r.Rate, 1e-9), err
		})
	}
	return c
}

// unread is the volume of a run whose time ends before the receiver has everything. It is several
// times the default capacity of TCP's buffers, 4 to 6 MB at each end.
const unread = 16 << 20

// injected ends the name of an operation of libfabric that has no completion: the data are copied
// at once. The window of fi_rma_bw does not bound such operations, so their depth differs from that
// of others. libfabric's TCP injects at most maxInject bytes, and fi_rma_bw less than that.
const (
	injected  = " injected"
	maxInject = 128
)

// rma returns the contender for one operation of fi_rma_bw. It sleeps if it takes part in the mode
// of one CPU. Its Writes and Reads go in both directions at once, and there are two series: the
// client's figure, and the sum of both ends. Only writedata, a Write with immediate data, goes in
// one direction. There the client waits for a message of the server after each window.
func rma(op operation, what string, in modes) *contender {
	c := &contender{name: "fi_rma_bw " + what, op: op, tool: toolRMA, modes: in}
	wait, mode := "spin", ""
	if in != allCPUs {
		wait, mode = "sread", sleeps
	}
	c.series = []string{c.name + mode}
	kind, inject := strings.CutSuffix(what, injected)
	if kind == "write" {
		c.volume = unread
	}
	if inject {
		c.most = maxInject - 1
	}
	if kind != "writedata" {
		c.series = []string{c.name + ", one way of two" + mode, c.name + ", sum of both ways" + mode}
	}
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) {
		return b.counted(ctx, c, size, func(ctx context.Context, n int) (figures, float64, error) {
			argv := []string{
				"fi_rma_bw", "-p", "tcp", "-e", "msg", "-o", kind, "-S", strconv.Itoa(size), "-I", strconv.Itoa(n), "-w", strconv.Itoa(n/10 + 1),
				"-W", strconv.Itoa(depth), "-c", wait,
			}
			if !inject {
				argv = append(argv, "-j", "0")
			}
			p := pair{
				server: func(int) []string { return b.pinned(slices.Concat(argv, []string{"-s", "127.0.0.1", "-B", "0"})) },
				client: func(port int) []string {
					return b.pinned(slices.Concat(argv, []string{"-P", strconv.Itoa(port), "127.0.0.1"}))
				},
			}
			server, client, err := p.run(ctx)
			if err != nil {
				return nil, 0, err
			}
			r, err := parseFabric(c.tool.command, client)
			if err != nil {
				return nil, 0, err
			}
			f := figures{c.series[0]: r.Rate}
			if len(c.series) > 1 {
				s, err := parseFabric(c.tool.command, server)
				if err != nil {
					return nil, 0, fmt.Errorf("server: %w", err)
				}
				f[c.series[1]] = r.Rate + s.Rate
			}
			return f, r.Latency * float64(n), nil
		})
	}
	return c
}

// pingpong returns the contender for fi_pingpong. It cannot sleep.
func pingpong() *contender {
	const name = "fi_pingpong"
	c := &contender{name: name, op: opLatency, tool: toolPingpong, series: []string{name}, modes: allCPUs}
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) {
		return b.counted(ctx, c, size, func(ctx context.Context, n int) (figures, float64, error) {
			argv := []string{name, "-p", "tcp", "-e", "msg", "-S", strconv.Itoa(size), "-I", strconv.Itoa(n)}
			p := pair{
				reserve: true,
				server:  func(port int) []string { return b.pinned(slices.Concat(argv, []string{"-B", strconv.Itoa(port)})) },
				client: func(port int) []string {
					return b.pinned(slices.Concat(argv, []string{"-P", strconv.Itoa(port), "127.0.0.1"}))
				},
			}
			_, out, err := p.run(ctx)
			if err != nil {
				return nil, 0, err
			}
			r, err := parseFabric(name, out)
			return figures{name: r.Latency}, 2 * r.Latency * float64(n), err
		})
	}
	return c
}

// iperf returns the contender for iperf3. Its runs take a second, the shortest time that it offers.
func iperf() *contender {
	const name = "iperf3"
	c := &contender{name: name, op: opStream, tool: toolIperf, series: []string{name}}
	c.run = func(ctx context.Context, b *bench, size int) (figures, error) {
		p := pair{
			reserve: true,
			server: func(port int) []string {
				return b.pinned([]string{name, "-s", "-1", "-B", "127.0.0.1", "-p", strconv.Itoa(port)})
			},
			client: func(port int) []string {
				return b.pinned([]string{name, "-c", "127.0.0.1", "-p", strconv.Itoa(port), "-l", strconv.Itoa(size), "-t", "1", "-N", "-J"})
			},
		}
		ctx, cancel := context.WithTimeout(ctx, b.timeout)
		defer cancel()
		_, out, err := p.run(ctx)
		if err != nil {
			return nil, err
		}
		rate, err := parseIperf(out)
		return figures{name: rate}, err
	}
	return c
}
