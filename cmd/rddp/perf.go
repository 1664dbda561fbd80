package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rddp/rddp/cmd/rddp/internal/perf"
	"github.com/rddp/rddp/cmd/rddp/internal/tlsfiles"
)

func perfCommand() *cli.Command {
	return &cli.Command{
		Name:  "perf",
		Usage: "measure throughput, latency and processor time next to plain TCP",
		UsageText: "rddp perf --self [options]            measure between two processes of this machine\n" +
			"rddp perf --listen ADDRESS [options]  serve the other end until interrupted\n" +
			"rddp perf [options] ADDRESS...        measure against these servers",
		Description: "Each round runs every operation next to plain TCP with the same sizes, buffers and congestion control. The\n" +
			"results are medians over the rounds. x TCP is the rate divided by plain TCP's in the same round: more than 1\n" +
			"is faster than plain TCP. x TCP's CPU is the processor time of both ends for one operation, divided by plain TCP's:\n" +
			"less than 1 is cheaper, and other work on the machine changes it least. Operations: " + strings.Join(perf.Ops(), ", ") + ".\n\n" +
			"With TLS it is under all connections, so x TCP compares with TLS over TCP. --self --tls-self measures that.\n" +
			fmt.Sprintf(tlsHelp, "perf", "--listen far", "perf", "far") + "\n\n" +
			"   rddp perf --self --op write,read --size 4k,64k --rounds 3\n" +
			"   rddp perf --self --op echo --size 64 --pause 0s,200us,1ms,5ms,30ms\n" +
			"   rddp perf --self --scale",
		Flags:  perfFlags(),
		Action: runPerf,
	}
}

// perfPort is the default port. It differs from that of the other commands, so that both kinds of
// server can run.
const perfPort = "7175"

func perfFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.BoolFlag{Name: "self", Usage: "start the servers as processes of this machine"},
		listenFlag("", "serve the other end, and listen at `ADDRESS`: HOST[:PORT] or :PORT; the default port is "+perfPort),
		&cli.IntFlag{Name: "peers", HideDefault: true, Usage: "with --self: start `N` servers (default: 1; 4 with a load that has many nodes)"},
		&cli.StringFlag{Name: "op", Usage: "measure the operations of this `LIST` (default: all)"},
		&cli.StringFlag{Name: "size", Usage: "bytes of one operation: `LIST` of sizes such as 4k (default: 64,4k,64k,1m)"},
		&cli.StringFlag{Name: "depth", Usage: "`LIST` of the numbers of Work Requests under way at once, up to 100000 (default: 1,16)"},
		&cli.StringFlag{Name: "post", Usage: "how to post them: `LIST` of one (Post) and batch (PostBatch) (default: both)"},
		&cli.StringFlag{Name: "crc", Usage: "CRC32C in each FPDU: `LIST` of on and off (default: on)"},
		&cli.StringFlag{Name: "rows", Usage: "measure exactly the rows of this `LIST`, each op/crc/size/depth or op/crc/size/depth/post, such as write/on/64k/16/batch"},
		&cli.StringFlag{Name: "pause", Usage: "sleep before each operation: `LIST` of durations such as 0s,1ms,30ms; with a pause, only operations whose latency is measured (default: 0s; with a pause, --time 1s)"},
		&cli.StringFlag{Name: "conns", Usage: "numbers of connections: `LIST`; everything runs with each of them (default: one for each server)"},
		&cli.StringFlag{Name: "load", Usage: "one of " + strings.Join(perf.Loads(), ", "), Value: perf.LoadMultiStream},
		&cli.IntFlag{Name: "rounds", Usage: "run everything `N` times and take the medians", Value: 5},
		&cli.DurationFlag{Name: "time", Usage: "time of one run", Value: 100 * time.Millisecond},
		&cli.BoolFlag{Name: "one-cpu", Usage: "pin each process to one CPU; on one machine all of them to the same one"},
		&cli.IntFlag{Name: "cpu", HideDefault: true, Value: -1, Usage: "with --one-cpu: the `NUMBER` of the CPU (default: the highest)"},
		&cli.StringFlag{Name: "congestion", Usage: "TCP's congestion control for all connections: `NAME` (default: the system's)"},
		sizeFlag("buffer", 0, "send and receive buffers of this `SIZE` for all connections (default: automatic)"),
		sizeFlag("ring", 16<<20, "`SIZE` of the memory that the data walks through, at each end"),
		&cli.BoolFlag{Name: "read-data", Usage: "the receiver reads every byte at once, as a real program does, over plain TCP too; a send of one byte follows each write and says that it is there"},
		&cli.DurationFlag{Name: "poll", Usage: "DDP: a Read polls for this `DURATION` before it sleeps; less than 0: never (default: the library's choice)", HideDefault: true},
		&cli.BoolFlag{Name: "huge-pages", Usage: "measure with the heaps of all processes in huge pages, over plain TCP too (Linux 6.1)"},
		&cli.BoolFlag{Name: "no-gate", Usage: "keep rounds in which the CPUs of a virtual machine shared no cache; without it they are repeated"},
		&cli.BoolFlag{Name: "scale", Usage: "measure many connections: also the time to open one and the memory of an idle one (defaults: --op echo --size 1k --conns 1,16,64,256,1000,4000,10000 --rounds 3 --time 2s)"},
		jsonFlag(),
		timeoutFlag(30 * time.Second),
		&cli.BoolFlag{Name: "peer", Hidden: true},
	}, logFlags("client: log each run"), tlsFlags(tlsServer|tlsClient))
}

func runPerf(ctx context.Context, c *cli.Command) error {
	if c.Bool("peer") {
		return servePeer(ctx, c)
	}
	o, err := perfOptions(c)
	if err != nil {
		return err
	}
	if c.IsSet("listen") {
		return servePerf(ctx, c)
	}
	if err := perfTLS(c, o); err != nil {
		return err
	}
	if c.Bool("self") {
		stop, err := startPeers(ctx, c, o)
		if err != nil {
			return err
		}
		defer stop()
	}
	if c.Bool("verbose") {
		log := newLog(c)
		o.Progress = func(done, total int, what string) { log.Debug("running", "done", done, "of", total, "what", what) }
	} else if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress = func(done, total int, what string) {
			fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d: %s", done, total, what)
		}
		defer fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	err = measurePerf(ctx, c, o)
	if wrong := (*perf.OptionError)(nil); errors.As(err, &wrong) {
		return usage("%w", err)
	}
	return err
}

// measurePerf runs the measurements and prints the results. After an interrupt or a failure it
// prints the completed rounds.
func measurePerf(ctx context.Context, c *cli.Command, o *perf.Options) error {
	r, err := perf.Run(ctx, o)
	if ctx.Err() != nil {
		err = ctx.Err() // errors caused by the interrupt do not matter
	}
	if err != nil && (r == nil || len(r.Results)+len(r.Idles) == 0) {
		return err
	}
	write := r.WriteText
	if c.Bool("json") {
		write = r.WriteJSON
	}
	return errors.Join(err, write(c.Root().Writer))
}

// perfTLS sets the TLS configuration of a client. With --self, startPeers does that.
func perfTLS(c *cli.Command, o *perf.Options) error {
	others := serverOnly
	if c.Bool("self") {
		others = []string{"tls-cert", "tls-key", "tls-pin", "tls-ca", "tls-server-name", "tls-client-ca", "insecure"}
	}
	config, err := clientTLS(c, others...)
	if err == nil {
		o.TLS = config()
	}
	return err
}

// servePeer runs a server process of --self. With TLS, its word is the pin. It ignores interrupts:
// a terminal interrupts it together with the client, which still needs it, and stops it.
func servePeer(ctx context.Context, c *cli.Command) error {
	ctx = context.WithoutCancel(ctx)
	if !c.Bool("tls-self") {
		return perf.ServePeer(ctx, os.Stdin, c.Root().Writer, nil, "")
	}
	own, pin, err := tlsfiles.Self()
	if err != nil {
		return err
	}
	config, err := tlsfiles.Server{Identity: tlsfiles.Identity{Own: own}}.Config()
	if err != nil {
		return err
	}
	return perf.ServePeer(ctx, os.Stdin, c.Root().Writer, config, pin.String())
}

func servePerf(ctx context.Context, c *cli.Command) error {
	address, err := tcpAddress(c.String("listen"), perfPort)
	if err != nil {
		return err
	}
	config, err := serverTLS(ctx, c, address)
	if err != nil {
		return err
	}
	log := newLog(c)
	s, err := perf.Listen(ctx, address, log)
	if err != nil {
		return err
	}
	s.TLS = config
	log.Info("listening", "address", s.Addr())
	return s.Serve(ctx)
}

// startPeers starts the servers of --self, and adds their addresses to o.
func startPeers(ctx context.Context, c *cli.Command, o *perf.Options) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var peers []*perf.Peer
	stop = func() {
		for _, p := range peers {
			if err := p.Stop(); err != nil {
				fmt.Fprintf(c.Root().ErrWriter, "rddp perf: %v\n", err)
			}
		}
	}
	n := c.Int("peers")
	if n == 0 {
		if n = 1; o.Load != perf.LoadMultiStream {
			n = 4
		}
	}
	command := []string{self, "perf", "--peer"}
	if c.Bool("tls-self") {
		command = append(command, "--tls-self")
	}
	var trusted []tlsfiles.Pin
	for range n {
		p, err := perf.StartPeer(ctx, command, nil)
		if err != nil {
			stop()
			return nil, err
		}
		if c.Bool("tls-self") {
			pin, err := tlsfiles.ParsePin(p.Word)
			if err != nil {
				stop()
				return nil, err
			}
			trusted = append(trusted, pin)
		}
		peers = append(peers, p)
		o.Addresses = append(o.Addresses, p.Address)
	}
	if trusted != nil {
		config, err := tlsfiles.Client{Pins: trusted}.Config()
		if err != nil {
			stop()
			return nil, err
		}
		o.TLS = config()
	}
	return stop, nil
}

// perfOptions returns the options from the command line. Its errors are *usageErrors.
func perfOptions(c *cli.Command) (*perf.Options, error) {
	modes := 0
	for _, isMode := range []bool{c.Bool("self"), c.IsSet("listen"), c.Args().Present()} {
		if isMode {
			modes++
		}
	}
	switch {
	case modes != 1:
		return nil, usage("give one of --self, --listen ADDRESS, and the ADDRESS of one or more servers")
	case c.IsSet("rounds") && c.Int("rounds") < 1:
		return nil, usage("--rounds: %d: at least 1", c.Int("rounds"))
	case c.IsSet("time") && c.Duration("time") <= 0:
		return nil, usage("--time: %v: must be more than zero", c.Duration("time"))
	case c.Duration("timeout") <= 0:
		return nil, usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	case c.IsSet("buffer") && size(c, "buffer") < 1 || size(c, "buffer") > math.MaxInt32:
		return nil, usage("--buffer %d: 1 to %d bytes", size(c, "buffer"), math.MaxInt32)
	case size(c, "ring") < 1 || size(c, "ring") > math.MaxInt32:
		return nil, usage("--ring %d: 1 to %d bytes", size(c, "ring"), math.MaxInt32)
	case c.IsSet("peers") && (!c.Bool("self") || c.Int("peers") < 1 || c.Int("peers") > maxPeers):
		return nil, usage("--peers %d: with --self only, and 1 to %d", c.Int("peers"), maxPeers)
	case c.IsSet("cpu") && (!c.Bool("one-cpu") || c.Int("cpu") < 0):
		return nil, usage("--cpu %d: with --one-cpu only, and not negative", c.Int("cpu"))
	}
	for _, name := range []string{"op", "crc", "size", "depth", "post"} {
		if c.IsSet("rows") && c.IsSet(name) {
			return nil, usage("--rows says what to measure: it does not go with --%s", name)
		}
	}
	o := &perf.Options{
		Ops: list(c.String("op")), Posts: list(c.String("post")), Load: c.String("load"), Rounds: c.Int("rounds"),
		Time: c.Duration("time"), Ring: int(size(c, "ring")), Congestion: c.String("congestion"), Buffer: int(size(c, "buffer")),
		OneCPU: c.Bool("one-cpu"), CPU: c.Int("cpu"), Timeout: c.Duration("timeout"),
		Scale: c.Bool("scale"), Cold: true, HugePages: c.Bool("huge-pages"), NoGate: c.Bool("no-gate"), ReadData: c.Bool("read-data"), PollTime: c.Duration("poll"),
	}
	if c.IsSet("pause") && !c.IsSet("time") {
		o.Time = 0 // its default differs
	}
	if c.Bool("scale") { // its defaults differ
		for name, value := range map[string]*time.Duration{"time": &o.Time, "timeout": &o.Timeout} {
			if !c.IsSet(name) {
				*value = 0
			}
		}
		if !c.IsSet("rounds") {
			o.Rounds = 0
		}
	}
	for _, text := range c.Args().Slice() {
		address, err := tcpAddress(text, perfPort)
		if err != nil {
			return nil, err
		}
		o.Addresses = append(o.Addresses, address)
	}
	if err := perfLists(c, o); err != nil {
		return nil, usage("%w", err)
	}
	// Call Complete here too, so that a wrong option ends the command before it starts a process.
	// Use a copy, because the servers' addresses are not known yet.
	trial := *o
	if err := trial.Complete(); err != nil {
		return nil, usage("%w", err)
	}
	return o, nil
}

// maxPeers is the maximum number of server processes of --self.
const maxPeers = 64

// perfLists parses the flags that are lists of numbers or words.
func perfLists(c *cli.Command, o *perf.Options) (err error) {
	if text := c.String("rows"); text != "" {
		if o.Rows, err = perf.ParseRows(text); err != nil {
			return err
		}
	}
	if text := c.String("size"); text != "" {
		if o.Sizes, err = perf.ParseSizes(text); err != nil {
			return err
		}
	}
	for name, numbers := range map[string]*[]int{"depth": &o.Depths, "conns": &o.Conns} {
		for _, text := range list(c.String(name)) {
			n, err := strconv.Atoi(text)
			if err != nil {
				return &perf.OptionError{Option: name, Reason: fmt.Sprintf("%q is not a number", text)}
			}
			*numbers = append(*numbers, n)
		}
	}
	for _, text := range list(c.String("pause")) {
		d, err := time.ParseDuration(text)
		if err != nil {
			return &perf.OptionError{Option: "pause", Reason: fmt.Sprintf("%q is no duration such as 5ms", text)}
		}
		o.Pauses = append(o.Pauses, d)
	}
	for _, text := range list(c.String("crc")) {
		if text != "on" && text != "off" {
			return &perf.OptionError{Option: "crc", Reason: fmt.Sprintf("%q is neither on nor off", text)}
		}
		o.CRC = append(o.CRC, text == "on")
	}
	return nil
}

// list splits a list at its commas.
func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
