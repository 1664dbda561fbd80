package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
	supervise "github.com/rddp/rddp/cmd/rddp/internal/run"
	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

func runCommand() *cli.Command {
	one := 1
	return &cli.Command{
		Name:      "run",
		Usage:     "run an RDMA program on a host without an RDMA device, without root",
		UsageText: "rddp run [OPTIONS] PROGRAM [ARGUMENTS]",
		Description: "The unchanged program finds an RDMA device, " + supervise.DeviceName + ", which is this command. Programs under rddp run, on\n" +
			"one host or on several, reach each other over TCP, or through memory within a host and a user. Linux on\n" +
			"amd64 or arm64.\n\n" +
			"   near$ rddp run ibv_rc_pingpong -g 0\n" +
			"   far$  rddp run ibv_rc_pingpong -g 0 near\n\n" +
			"The device looks like InfiniBand (RoCE): GIDs are the host's addresses, and two queue pairs are joined\n" +
			"by ibv_modify_qp, or by rdma_cm. RC: Send, Write and Read, with immediate data, atomics, shared receive\n" +
			"queues, memory windows and events. UD too.\n\n" +
			"   near$ rddp run rping -s\n" +
			"   far$  rddp run rping -c -a near -C 10\n\n" +
			"With --iwarp the device is an RNIC, and rdma_cm connects it with every other one, such as Linux's\n" +
			"siw. It then has neither atomics nor immediate data.\n\n" +
			"With --check it reports what the program does wrong although it works, such as queues that would be full on\n" +
			"a card, payload that changes in flight, and objects that it leaves. The exit status is 88 then.\n\n" +
			"   $ rddp run --check ./program\n\n" +
			"With --fault legal it does whatever the specification permits and programs forget, from a seed: completions\n" +
			"come late, bytes are placed in any order. What fails then has worked by luck.\n\n" +
			"   $ rddp run --fault legal,seed=3 ./program\n\n" +
			"With --trace it writes every command, work request, completion and message as a timeline for Perfetto and\n" +
			"Chrome, or as text, and with --capture what the devices say to each other, for Wireshark.\n\n" +
			"   $ rddp run --trace out.json --capture out.pcapng ./program\n\n" +
			"Every host that can connect to this one may join a queue pair whose number it knows and whose program wants\n" +
			"to join it with that host, and connect to a program that listens. RDMA has no TLS: peers are known by GID and\n" +
			"number, and may be hardware.\n\n" +
			"With --tcp it also takes over TCP connections that the program makes, and with --tcp-listen those that it\n" +
			"accepts: over DDP with a peer that speaks it, such as rddp run or rddp proxy, and otherwise in plain TCP.\n" +
			"What it can't take over continues untouched, which is logged.\n\n" +
			"   far$  rddp run --insecure --tcp-listen :8080 python3 -m http.server 8080\n" +
			"   near$ rddp run --tcp :8080 curl http://far:8080/\n\n" +
			"The flags for TLS are for these connections, and then there is no plain TCP, unless --plain-too is given. A\n" +
			"listener that other hosts can connect to stays untouched without TLS or --insecure.\n\n" +
			"   far$  rddp run --tls-self --tcp-listen :8080 python3 -m http.server 8080\n" +
			"   near$ rddp run --tls-pin sha256//... --tcp :8080 curl http://far:8080/\n\n" +
			"Exit status, signals and terminal are the program's own. The command ends when the program and all that it\n" +
			"has started have ended.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "address", Aliases: []string{"a"}, Usage: "the device has `ADDRESS` as a GID; may be repeated (default: the host's addresses)"},
			&cli.StringSliceFlag{Name: "fault", Usage: "make a fault on purpose, such as `loss=1%` or send=RETRY_EXC_ERR@3, or whatever the specification permits (legal); docs/run.md has all; may be repeated"},
			&cli.BoolFlag{Name: "strict", Usage: "the device has the limits of small cards, and no more room than asked for; docs/legal.md"},
			&cli.BoolFlag{Name: "check", Usage: "report what the program does wrong although it works; docs/check.md has all that it finds"},
			&cli.StringSliceFlag{Name: "suppress", TakesFile: true, Usage: "with --check: do not report what `FILE` names; may be repeated"},
			&cli.IntFlag{Name: "check-status", Value: defaultCheckStatus, Usage: "with --check: the exit `STATUS` if there are findings and the program's own status is 0"},
			&cli.StringFlag{Name: "trace", TakesFile: true, Usage: "write a timeline for Perfetto and Chrome to `FILE`, or text for - to standard error; docs/trace.md explains it"},
			&cli.StringFlag{Name: "capture", TakesFile: true, Usage: "write what the devices say to each other to `FILE`, which Wireshark reads"},
			&cli.BoolFlag{Name: "iwarp", Usage: "the device is an RNIC: rdma_cm speaks plain iWARP"},
			&cli.StringSliceFlag{Name: "tcp", Usage: "connections to `RULE`, which is [ADDRESS[/BITS]]:PORT[-PORT], go over DDP if the peer speaks it; may be repeated"},
			&cli.StringSliceFlag{Name: "tcp-listen", Usage: "listeners at `RULE`, as of --tcp, serve DDP beside plain TCP; may be repeated"},
			&cli.BoolFlag{Name: "plain-too", Usage: "with TLS, allow plain TCP, without TLS, with peers that do not speak DDP"},
			timeoutFlag(supervise.DefaultTCPTimeout),
			metricsFlag(),
			&cli.BoolFlag{Name: "debug", Usage: "log each command too"},
		}, logFlags("log what the program opens, and the peer and the end of each connection"), tlsFlags(tlsServer|tlsClient)),
		StopOnNthArg: &one,
		Action:       runProgram,
	}
}

// stage executes the program of `rddp run`, if the command has started this process for that.
func stage() { supervise.Stage() }

func runProgram(ctx context.Context, c *cli.Command) error {
	if !c.Args().Present() {
		return usage("no program given")
	}
	cfg := supervise.Config{Args: c.Args().Slice(), IWARP: c.Bool("iwarp"), Trace: c.String("trace"), Capture: c.String("capture")}
	for _, a := range c.StringSlice("address") {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return usage("--address: %q is no IP address", a)
		}
		ip = ip.Unmap()
		if err := supervise.CheckAddress(ip); err != nil {
			return usage("--address: %v", err)
		}
		cfg.Addresses = append(cfg.Addresses, ip.WithZone(""))
	}
	specs := c.StringSlice("fault")
	if c.Bool("strict") {
		specs = append(specs, "legal=sizes")
	}
	faults, err := fault.Parse(specs)
	if err != nil {
		return usage("--fault: %v", err)
	}
	cfg.Faults = faults
	if err := tcpOf(c, &cfg); err != nil {
		return err
	}
	if err := checkOf(c, &cfg); err != nil {
		return err
	}
	level := slog.LevelWarn // warnings about failures and untouched connections are always logged
	switch {
	case c.Bool("debug"):
		level = slog.LevelDebug
	case c.Bool("verbose"):
		level = slog.LevelInfo
	}
	cfg.Log = logAt(c, level)
	cfg.TCPCounts = new(supervise.TCPCounts)
	stop, err := serveMetrics(ctx, c, cfg.ServerTLS, runMetrics(cfg.TCPCounts)...)
	if err != nil {
		return err
	}
	defer stop()
	status, err := supervise.Run(ctx, cfg)
	if err == nil && status != 0 {
		return programStatus(status)
	}
	return err
}

// defaultCheckStatus is the exit status of a program that ends well and has findings. Sanitizers
// have others, and so do shells.
const defaultCheckStatus = 88

// checkOf sets the fields of cfg about --check.
func checkOf(c *cli.Command, cfg *supervise.Config) error {
	cfg.Check, cfg.CheckStatus = c.Bool("check"), c.Int("check-status")
	for _, name := range []string{"suppress", "check-status"} {
		if !cfg.Check && c.IsSet(name) {
			return usage("--%s needs --check", name)
		}
	}
	if cfg.CheckStatus < 0 || cfg.CheckStatus > 255 {
		return usage("--check-status %d: must be from 0 to 255", cfg.CheckStatus)
	}
	for _, name := range c.StringSlice("suppress") {
		file, err := os.ReadFile(name)
		if err != nil {
			return usage("--suppress: %v", err)
		}
		all, err := check.ParseSuppressions(file)
		if err != nil {
			return usage("--suppress: %s: %v", name, err)
		}
		cfg.Suppress = append(cfg.Suppress, all...)
	}
	return nil
}

// tcpOf sets the fields of cfg about TCP connections.
func tcpOf(c *cli.Command, cfg *supervise.Config) (err error) {
	for name, all := range map[string]*[]rules.Rule{"tcp": &cfg.TCP, "tcp-listen": &cfg.TCPListen} {
		for _, s := range c.StringSlice(name) {
			r, err := rules.Parse(s)
			if err != nil {
				return usage("--%s: %v", name, err)
			}
			*all = append(*all, r)
		}
	}
	if cfg.TCPTimeout = c.Duration("timeout"); cfg.TCPTimeout <= 0 {
		return usage("--timeout %v: must be more than zero", cfg.TCPTimeout)
	}
	if c.IsSet("timeout") && len(cfg.TCP)+len(cfg.TCPListen) == 0 {
		return usage("--timeout needs --tcp or --tcp-listen")
	}
	cfg.Insecure, cfg.PlainToo = c.Bool("insecure"), c.Bool("plain-too")
	return tlsOf(c, cfg)
}

// isForMetrics reports whether a flag may be set because of --metrics.
func isForMetrics(c *cli.Command, flag string) bool { return flag == "insecure" && c.IsSet("metrics") }

// tlsOf sets the TLS configurations. A program that both makes and accepts connections needs both
// or neither.
func tlsOf(c *cli.Command, cfg *supervise.Config) error {
	server, client := c.IsSet("tls-cert") || c.Bool("tls-self"), c.IsSet("tls-ca") || c.IsSet("tls-pin") || c.IsSet("tls-server-name")
	made, accepted := len(cfg.TCP) > 0, len(cfg.TCPListen) > 0
	switch {
	case !made && !accepted:
		for _, f := range slices.Concat(tlsFlags(tlsServer|tlsClient), []cli.Flag{&cli.BoolFlag{Name: "plain-too"}}) {
			if name := f.Names()[0]; c.IsSet(name) && !isForMetrics(c, name) {
				return usage("--%s needs --tcp or --tcp-listen: RDMA has no TLS", name)
			}
		}
		return nil
	case made && accepted && server != client:
		return usage("with --tcp and --tcp-listen, TLS needs --tls-self, or --tls-cert and --tls-key, and also --tls-ca, --tls-pin or --tls-server-name")
	case cfg.PlainToo && !server && !client:
		return usage("--plain-too needs TLS: without TLS, plain TCP is allowed anyway")
	}
	var err error
	if made {
		var others []string
		if !accepted {
			others = slices.DeleteFunc(slices.Clone(serverOnly), func(name string) bool { return isForMetrics(c, name) })
		}
		if cfg.ClientTLS, err = clientTLS(c, others...); err != nil {
			return err
		}
		if !client {
			cfg.ClientTLS = nil
		}
	}
	if accepted {
		if !made {
			err = flagsFor(c, "server", clientOnly...)
		}
		if err == nil {
			cfg.ServerTLS, err = serverConfig(c)
		}
	}
	return err
}

// runMetrics returns the metrics of `rddp run`, without those of its connections in DDP mode.
func runMetrics(n *supervise.TCPCounts) []prometheus.Collector {
	const name, help = "rddp_run_tcp_connections_total", "TCP connections that a rule has chosen, by what became of them."
	of := func(n *atomic.Uint64) func() float64 { return func() float64 { return float64(n.Load()) } }
	return []prometheus.Collector{
		monitor.Counter(name, help, of(&n.DDP), "fate", "ddp"),
		monitor.Counter(name, help, of(&n.Plain), "fate", "plain"),
		monitor.Counter(name, help, of(&n.Untouched), "fate", "untouched"),
	}
}

// A programStatus is the exit status, other than 0, of a program. It is not printed as an error.
type programStatus int

func (s programStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
