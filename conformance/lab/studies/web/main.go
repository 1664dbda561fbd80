package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "web"

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := harness.Parse(name, args, log, func(*flag.FlagSet) {})
	s := harness.Study[trial, outcome]{Name: name, Trials: trials, Figures: figures}
	return s.Measure(ctx, &o, err, out)
}

// A trial is a number of clients that get one page repeatedly.
type trial struct {
	Way     string
	Kept    bool // the proxy keeps its connections
	Size    int  // of the page, in bytes
	Work    int  // checksums for a dynamic page; 0 for a static one
	Clients int

	Time  time.Duration
	Count int // requests of each client, instead; 0: none
	Pin   bool

	Address string // of the web server, and then of the proxy
}

// An outcome is the result of one trial. P50 and P99 are percentiles of the time of a response, in
// microseconds.
type outcome struct {
	Way                 string
	Kept                bool
	Size, Work, Clients int
	Responses           int
	Seconds, P50, P99   float64
}

var (
	ways    = []string{wayTCP, wayStream}
	clients = []int{1, 10, 100, 1000}
	sizes   = []int{1 << 10, 16 << 10, 128 << 10, 1 << 20}
)

// The values of parameters in the trials that do not vary them.
const (
	usedSize    = 16 << 10
	usedClients = 10
)

func trials(o *harness.Options, _ uint64) (trials []trial) {
	add := func(t trial) {
		t.Time, t.Pin = o.Time, o.Pin
		for _, t.Kept = range []bool{true, false} {
			for _, t.Way = range ways {
				trials = append(trials, t)
			}
		}
	}
	for _, n := range clients {
		add(trial{Size: usedSize, Clients: n})
		add(trial{Size: usedSize, Clients: n, Work: work})
	}
	for _, size := range sizes {
		if size != usedSize {
			add(trial{Size: size, Clients: usedClients})
		}
	}
	return trials
}

// The CPUs of a trial that pins its processes.
const (
	clientsCPU = 0
	webCPU     = 1
)

// The parts.
const (
	partWeb     = "web"
	partProxy   = "proxy"
	partClients = "clients"
)

var parts = map[string]harness.Part{
	partWeb: harness.PartOf(serveWeb), partProxy: harness.PartOf(serveProxy), partClients: harness.PartOf(runClients),
}

// serve serves until the process ends.
func serve(s *http.Server, l net.Listener) {
	harness.Fail(s.Serve(l))
}

var errResponse = errors.New("a wrong response")

// get gets the page and checks it.
func get(c *http.Client, t *trial, memory []byte) error {
	r, err := c.Get("http://" + t.Address)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK || r.ContentLength != int64(t.Size) {
		return fmt.Errorf("%w: %s, %d bytes", errResponse, r.Status, r.ContentLength)
	}
	if _, err := io.ReadFull(r.Body, memory); err != nil {
		return err
	}
	for _, b := range memory {
		if b != filler {
			return errResponse
		}
	}
	_, err = io.Copy(io.Discard, r.Body) // the end
	return err
}

// runClients is the process of all clients. It reports the outcome.
func runClients(_ context.Context, t trial) error {
	transport := &http.Transport{MaxIdleConnsPerHost: t.Clients, DisableCompression: true}
	c := &http.Client{Transport: transport}
	errs, times, counts := make([]error, t.Clients), make([]harness.Times, t.Clients), make([]int, t.Clients)
	run := func(more func(n int) bool) {
		var done sync.WaitGroup
		for i := range t.Clients {
			times[i], counts[i] = harness.NewTimes(), 0
			done.Go(func() {
				memory := make([]byte, t.Size)
				for ; errs[i] == nil && more(counts[i]); counts[i]++ {
					begin := time.Now()
					errs[i] = get(c, &t, memory)
					times[i].Add(time.Since(begin))
				}
			})
		}
		done.Wait()
	}
	run(func(n int) bool { return n < 1 }) // opens the connections
	begin := time.Now()
	end := begin.Add(t.Time)
	run(func(n int) bool { return t.Count > 0 && n < t.Count || t.Count == 0 && time.Now().Before(end) })
	o, all := outcome{Seconds: time.Since(begin).Seconds()}, harness.NewTimes()
	for i := range t.Clients {
		o.Responses += counts[i]
		all.Merge(times[i])
	}
	transport.CloseIdleConnections()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	o.P50, o.P99 = all.At(50).Seconds()*1e6, all.At(99).Seconds()*1e6
	return harness.Report(o)
}

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Time+time.Minute)
	defer cancel()
	var group harness.Group
	address, err := group.Start(ctx, harness.CPUOf(t.Pin, webCPU), partWeb, t, 1)
	if err == nil {
		t.Address = address[0]
		address, err = group.Start(ctx, harness.CPUOf(t.Pin, clientsCPU), partProxy, t, 1)
	}
	if err == nil {
		t.Address = address[0]
		_, err = harness.Outcome(ctx, harness.CPUOf(t.Pin, clientsCPU), partClients, t, &o)
	}
	_, stopped := group.Stop()
	if err = errors.Join(err, stopped); err != nil {
		return o, fmt.Errorf("%+v: %w", t, err)
	}
	o.Way, o.Kept, o.Size, o.Work, o.Clients = t.Way, t.Kept, t.Size, t.Work, t.Clients
	return o, nil
}
