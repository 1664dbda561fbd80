package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
	"github.com/rddp/rddp/cmd/rddp/internal/ping"
	"github.com/rddp/rddp/extsock"
)

func pingCommand() *cli.Command {
	return &cli.Command{
		Name:  "ping",
		Usage: "ping with RDMA Read and RDMA Write, as rping does, in both roles",
		UsageText: "rddp ping [options] ADDRESS           ping a server, this one or Linux's rping\n" +
			"rddp ping --listen ADDRESS [options]  answer pings",
		Description: "One ping a second, with a line for each, until -c pings are made or an interrupt comes. A server without\n" +
			"-P ends after the first client, as rping -s does.\n\n" +
			"   far$  rddp ping --listen far --insecure -P\n" +
			"   near$ rddp ping -c 10 -s 4k far\n" +
			"   near$ rddp ping -f -c 100000 --json far\n\n" +
			fmt.Sprintf(tlsHelp, "ping", "--listen far", "ping", "far"),
		Flags: slices.Concat([]cli.Flag{
			listenFlag("", "answer pings, and listen at `ADDRESS`: HOST[:PORT] or :PORT"),
			&cli.IntFlag{Name: "count", HideDefault: true, Aliases: []string{"c"}, Usage: "client: make `N` pings (default: until interrupted)"},
			&cli.DurationFlag{Name: "interval", Aliases: []string{"i"}, Value: time.Second, Usage: "client: begin a ping each `DURATION`, or when the one before is answered if that takes longer"},
			&cli.BoolFlag{Name: "flood", Aliases: []string{"f"}, Usage: "client: begin each ping when the one before is answered, and print the summary only"},
			sizeFlag("size", 0, "client: bytes of ping data, a `SIZE` such as 4k or 1m (default: 64); server: the maximum that it accepts (default: 64m)", "s"),
			&cli.BoolFlag{Name: "print-data", Usage: "print the ping data, as rping -v does"},
			&cli.BoolFlag{Name: "validate", Aliases: []string{"V"}, Usage: "client: compare the data received with the data sent"},
			&cli.BoolFlag{Name: "persistent", Aliases: []string{"P"}, Usage: "server: serve connections until interrupted, several at a time"},
			jsonFlag(),
			timeoutFlag(10 * time.Second),
			&cli.IntFlag{Name: "revision", HideDefault: true, Usage: "client: MPA revision `1 or 2` (default: 2, then 1 if there is no Reply)"},
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the peer wants it"},
			&cli.BoolFlag{Name: "markers", Usage: "ask the peer for Markers; Linux's siw refuses"},
			&cli.BoolFlag{Name: "p2p", Usage: "client: ask for the peer-to-peer model of RFC 6581"},
			&cli.StringFlag{Name: "rtr", Usage: "kinds of RTR: `LIST` of send, write, read (default: client with --p2p write,read; server all)"},
		}, logFlags("log each step"), tlsFlags(tlsServer|tlsClient)),
		Action: runPing,
	}
}

func runPing(ctx context.Context, c *cli.Command) error {
	cfg, address, err := pingConfig(c)
	if err != nil {
		return err
	}
	if c.IsSet("listen") {
		if cfg.Socket.TLS, err = serverTLS(ctx, c, address); err != nil {
			return err
		}
		s, err := ping.Listen(address, cfg)
		if err != nil {
			return err
		}
		newLog(c).Info("listening", "address", s.Addr())
		return s.Serve(ctx)
	}
	config, err := clientTLS(c, serverOnly...)
	if err != nil {
		return err
	}
	cfg.Socket.TLS = config()
	show := newPingOutput(c, address)
	if !c.Bool("flood") {
		cfg.Pinged = show.ping
	}
	summary, err := ping.Client(ctx, address, cfg)
	if summary.Pings > 0 || err == nil {
		show.summary(summary)
	}
	return err
}

// pingConfig returns the configuration and the address from the command line. Its errors are
// *usageErrors.
func pingConfig(c *cli.Command) (cfg *ping.Config, address string, err error) {
	rtr, err := ping.ParseRTR(c.String("rtr"))
	server := c.IsSet("listen")
	switch {
	case err != nil:
		return nil, "", usage("--rtr: %w", err)
	case server && c.Args().Present():
		return nil, "", usage("unexpected argument %q", c.Args().First())
	case !server && c.NArg() != 1:
		return nil, "", usage("give one ADDRESS, or --listen ADDRESS")
	case c.IsSet("size") && (size(c, "size") < 1 || size(c, "size") > ping.MaxSize):
		return nil, "", usage("--size %v: the size is 1 to %v bytes", size(c, "size"), cliparse.Size(ping.MaxSize))
	case c.IsSet("count") && c.Int("count") < 1:
		return nil, "", usage("--count %d: at least 1", c.Int("count"))
	case c.Duration("interval") <= 0:
		return nil, "", usage("--interval %v: must be more than zero; --flood does not wait", c.Duration("interval"))
	case c.Bool("flood") && c.IsSet("interval"):
		return nil, "", usage("give either --flood or --interval")
	case c.IsSet("revision") && c.Int("revision") != 1 && c.Int("revision") != 2:
		return nil, "", usage("--revision %d: MPA has revisions 1 and 2", c.Int("revision"))
	case c.Int("revision") == 1 && c.Bool("p2p"):
		return nil, "", usage("--p2p needs --revision 2")
	case !server && c.IsSet("rtr") && !c.Bool("p2p"):
		return nil, "", usage("--rtr needs --p2p")
	case c.Duration("timeout") <= 0:
		return nil, "", usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	}
	for _, name := range []string{"count", "interval", "flood", "validate", "json", "p2p", "revision"} {
		if server && c.IsSet(name) {
			return nil, "", usage("--%s is for a client: it does not go with --listen", name)
		}
	}
	if !server && c.Bool("persistent") {
		return nil, "", usage("--persistent is for a server: it needs --listen")
	}
	if address = c.String("listen"); !server {
		address = c.Args().First()
	}
	if address, err = tcpAddress(address, cliparse.DefaultPort); err != nil {
		return nil, "", err
	}
	log := newLog(c)
	cfg = &ping.Config{
		Size: int(size(c, "size")), Count: c.Int("count"), Interval: c.Duration("interval"), Validate: c.Bool("validate"), Verbose: c.Bool("print-data"),
		Persistent: c.Bool("persistent"), Timeout: c.Duration("timeout"), Out: c.Root().Writer,
		Failed: func(peer net.Addr, err error) { log.Warn("connection failed", "peer", peer, "err", err) },
		Socket: extsock.Config{
			Revision: c.Int("revision"), NoCRC: c.Bool("no-crc"), Markers: c.Bool("markers"), PeerToPeer: c.Bool("p2p"), RTR: rtr,
		},
	}
	if c.Bool("flood") {
		cfg.Interval = 0
	}
	if c.Bool("verbose") {
		cfg.Trace = log
	}
	return cfg, address, nil
}

// A pingOutput prints the measurements of a client.
type pingOutput struct {
	w       io.Writer
	json    *json.Encoder // nil for text
	address string
}

func newPingOutput(c *cli.Command, address string) *pingOutput {
	o := &pingOutput{w: c.Root().Writer, address: address}
	if c.Bool("json") {
		o.json = json.NewEncoder(o.w)
	}
	return o
}

// A pingRecord is a line of --json for one ping.
type pingRecord struct {
	Kind string        `json:"kind"` // "ping"
	Ping int           `json:"ping"` // counted from 0
	Size int           `json:"size"`
	Time time.Duration `json:"time_ns"`
}

// A pingSummary is the last line of --json.
type pingSummary struct {
	Kind  string        `json:"kind"` // "summary"
	Pings int           `json:"pings"`
	Size  int           `json:"size"`
	Min   time.Duration `json:"min_ns"`
	Avg   time.Duration `json:"avg_ns"`
	P50   time.Duration `json:"p50_ns"`
	P90   time.Duration `json:"p90_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

// checkedWriter records errors of these writes.

func (o *pingOutput) ping(n, size int, rtt time.Duration) {
	if o.json != nil {
		_ = o.json.Encode(pingRecord{"ping", n, size, rtt})
		return
	}
	fmt.Fprintf(o.w, "%d bytes from %s: ping %d, %s\n", size, o.address, n, ping.Round(rtt))
}

func (o *pingOutput) summary(s ping.Summary) {
	if o.json != nil {
		_ = o.json.Encode(pingSummary{"summary", s.Pings, s.Size, s.Min, s.Avg(), s.Percentile(50), s.Percentile(90), s.Percentile(99), s.Max})
		return
	}
	fmt.Fprintln(o.w, s)
}
