package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/extsock"
)

func proxyCommand() *cli.Command {
	return &cli.Command{
		Name:  "proxy",
		Usage: "carry any TCP service over DDP between two hosts, for programs that can't be changed",
		UsageText: "rddp proxy --listen rddp://[HOST][:PORT] --to HOST:PORT   the exit, near the service\n" +
			"rddp proxy --listen [HOST]:PORT --to rddp://HOST[:PORT]   the entrance, near the clients\n" +
			"rddp proxy --routes FILE",
		Description: "Clients connect to the entrance in plain TCP. The entrance connects to the exit in DDP mode, and the exit\n" +
			"connects to the service in plain TCP. The address of the side that speaks DDP begins with rddp:// (default\n" +
			"port 7174). The plain side may also be a unix socket, unix:PATH.\n\n" +
			"   far$  rddp proxy --insecure --listen rddp://:7174 --to 127.0.0.1:80\n" +
			"   near$ rddp proxy --listen 127.0.0.1:8080 --to rddp://far\n" +
			"   near$ curl http://127.0.0.1:8080/\n\n" +
			"The proxy passes on half-closes and resets in both directions. After an interrupt it ends when its\n" +
			"connections have ended, or after --grace. A second interrupt ends it at once.\n\n" +
			"A file of routes has one in each line: where to listen, and what to connect to. # begins a comment. All\n" +
			"routes are of an exit, or all of an entrance. After SIGHUP the proxy uses the file as it is then, or, if a\n" +
			"line is wrong, says so and goes on as before. Connections live on in any case.\n\n" +
			"   far$  printf 'rddp://10.0.0.2:7174 127.0.0.1:80\\nrddp://10.0.0.2:7175 127.0.0.1:5432\\n' >routes\n" +
			"   far$  rddp proxy --tls-self --routes routes --health 127.0.0.1:8081\n\n" +
			"TLS is between the proxies: the exit is the server, and the entrance the client. Beyond loopback an exit\n" +
			"listens only with TLS or --insecure, and an entrance, whose clients have no TLS, only with --insecure.\n\n" +
			"   far$  rddp proxy --tls-self --listen rddp://:7174 --to 127.0.0.1:80\n" +
			"   near$ rddp proxy --tls-pin sha256//... --listen 127.0.0.1:8080 --to rddp://far",
		Flags: slices.Concat([]cli.Flag{
			listenFlag("", "listen at `ADDRESS`; port 0 means any free port"),
			&cli.StringFlag{Name: "to", Aliases: []string{"t"}, Usage: "connect to `ADDRESS` for each connection"},
			&cli.StringFlag{Name: "routes", Usage: "read the addresses from `FILE`, two in a line, and again on SIGHUP"},
			&cli.StringFlag{Name: "health", Usage: "answer HTTP at `ADDRESS`: /live, and /ready until the proxy ends"},
			metricsFlag(),
			timeoutFlag(proxy.DefaultTimeout),
			&cli.DurationFlag{Name: "idle", HideDefault: true, Usage: "close a connection that is idle for longer than this (default: never)"},
			graceFlag(proxy.DefaultGrace, "drain"),
			maxConnsFlag(proxy.DefaultMaxConns),
			hugePagesFlag(),
			&cli.BoolFlag{Name: "fallback", Usage: "connect in plain TCP (with TLS if that is on) if the peer does not speak DDP"},
			&cli.StringSliceFlag{Name: "accept-proxy", HideDefault: true, Usage: "connections from `PREFIX` begin with a PROXY protocol header, v1 or v2; may be repeated"},
			&cli.StringFlag{Name: "send-proxy", Usage: "begin each connection to the target with a PROXY protocol header of `VERSION` v1 or v2", Validator: checkHeaderVersion},
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the other proxy wants it"},
			&cli.DurationFlag{Name: "stats", HideDefault: true, Usage: "log the counters at this interval"},
		}, logFlags("log each connection that ends, not only those that fail"), tlsFlags(tlsServer|tlsClient)),
		Action: runProxy,
	}
}

func runProxy(ctx context.Context, c *cli.Command) error {
	if err := checkProxyFlags(c); err != nil {
		return err
	}
	var hup <-chan os.Signal
	if c.IsSet("routes") { // catch SIGHUP before reading the file, because its owner may change it and send SIGHUP at any time
		var stop func()
		hup, stop = catchReload()
		defer stop()
	}
	routes, err := proxyRoutes(ctx, c)
	if err != nil {
		return err
	}
	cfg, err := proxyConfig(ctx, c, routes)
	if err != nil {
		return err
	}
	// After a failure the other routes must end too.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := proxy.NewRouter(cfg)
	if c.IsSet("health") {
		stop, err := serveHTTP(ctx, c, "health", cfg.Socket.TLS, healthHandler(r.IsReady))
		if err != nil {
			return err
		}
		defer stop()
	}
	stop, err := serveMetrics(ctx, c, cfg.Socket.TLS, proxyMetrics(r)...)
	if err != nil {
		return err
	}
	defer stop()
	stopPages, err := hugePages(ctx, c, cfg.Log)
	if err != nil {
		return err
	}
	defer stopPages()
	if err := r.Set(ctx, routes); err != nil {
		return err
	}
	if c.IsSet("routes") {
		defer reloadRoutes(ctx, c, r, cfg, hup)()
	}
	defer notifyReady(ctx, cfg.Log)()
	if every := c.Duration("stats"); every > 0 {
		defer logStats(r, every, cfg.Log)()
	}
	defer logInterrupted(ctx, c, cfg.Log, func() int64 { return int64(r.Stats().Open) })()
	err = r.Wait(ctx)
	cancel()
	return errors.Join(err, r.Wait(ctx))
}

// proxyConfig returns the configuration of all routes.
func proxyConfig(ctx context.Context, c *cli.Command, routes []proxy.Route) (*proxy.Config, error) {
	prefixes, err := prefixes(c)
	if err != nil {
		return nil, err
	}
	log := newLog(c)
	cfg := &proxy.Config{
		Timeout: c.Duration("timeout"), Idle: c.Duration("idle"), Grace: c.Duration("grace"), MaxConns: c.Int("max-conns"),
		Log:      log,
		Fallback: c.Bool("fallback"), HeaderFrom: prefixes, SendHeader: headerVersions[c.String("send-proxy")],
		Socket: extsock.Config{NoCRC: c.Bool("no-crc")},
		Ended:  func(s proxy.Summary) { logEnded(log, s) },
	}
	if routes[0].Listen.DDP {
		cfg.Socket.TLS, err = serverTLS(ctx, c, routes[0].Listen.Address)
	} else {
		cfg.TLS, err = clientTLS(c, "tls-self", "tls-client-ca")
	}
	if err == nil {
		err = checkRoutes(ctx, c, cfg, routes)
	}
	if cfg.Grace == 0 {
		cfg.Grace = -1
	}
	return cfg, err
}

// checkProxyFlags returns a *usageError if the flags are inconsistent.
func checkProxyFlags(c *cli.Command) (err error) {
	switch one := c.IsSet("listen") && c.IsSet("to"); {
	case c.Args().Present():
		err = usage("unexpected argument %q", c.Args().First())
	case c.IsSet("routes") && (c.IsSet("listen") || c.IsSet("to")):
		err = usage("give either --routes or --listen and --to")
	case !c.IsSet("routes") && !one:
		err = usage("give both --listen ADDRESS and --to ADDRESS")
	case c.Int("max-conns") < 1:
		err = usage("--max-conns %d: at least 1", c.Int("max-conns"))
	case c.Duration("timeout") <= 0:
		err = usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	}
	for _, name := range []string{"idle", "grace", "stats"} {
		if err == nil && c.Duration(name) < 0 {
			err = usage("--%s %v: must not be negative", name, c.Duration(name))
		}
	}
	return err
}

// headerVersions are the values of --send-proxy.
var headerVersions = map[string]int{"v1": 1, "v2": 2}

func checkHeaderVersion(s string) error {
	if headerVersions[s] == 0 {
		return errors.New(strconv.Quote(s) + " is neither v1 nor v2")
	}
	return nil
}

// prefixes returns the values of --accept-proxy.
func prefixes(c *cli.Command) (all []netip.Prefix, err error) {
	for _, text := range c.StringSlice("accept-proxy") {
		p, err := proxy.ParsePrefix(text)
		if err != nil {
			return nil, usage("--accept-proxy: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// logEnded logs a connection that has ended.
func logEnded(log *slog.Logger, s proxy.Summary) {
	args := []any{"from", s.From, "to", s.To}
	if s.Via != "" {
		args = append(args, "via", s.Via)
	}
	if s.Fallback != nil {
		args = append(args, "plain", s.Fallback)
	}
	if s.Through {
		args = append(args, "there", s.There, "back", s.Back, "ddp", s.DDPMode, "time", s.Duration)
	}
	if s.Err != nil {
		log.Warn("connection failed", append(args, "err", s.Err)...)
	} else {
		log.Debug("connection ended", args...)
	}
}

// proxyMetrics returns the metrics of a proxy, without those of its connections in DDP mode.
func proxyMetrics(r *proxy.Router) []prometheus.Collector {
	of := func(f func(proxy.Stats) int64) func() float64 { return func() float64 { return float64(f(r.Stats())) } }
	const carried, carriedHelp = "rddp_proxy_bytes_total", "Bytes passed on: there, from those that connect to the proxy, and back, to them."
	return []prometheus.Collector{
		monitor.Gauge("rddp_proxy_connections_open", "Connections under way.", of(func(s proxy.Stats) int64 { return int64(s.Open) })),
		monitor.Counter("rddp_proxy_connections_ended_total", "Connections that have ended.", of(func(s proxy.Stats) int64 { return s.Ended })),
		monitor.Counter("rddp_proxy_connections_failed_total", "Connections that did not end in order.", of(func(s proxy.Stats) int64 { return s.Failed })),
		monitor.Counter("rddp_proxy_connections_refused_total", "Connections for which there was no room.", of(func(s proxy.Stats) int64 { return s.Refused })),
		monitor.Counter("rddp_proxy_fallbacks_total", "Connections that were carried in plain TCP.", of(func(s proxy.Stats) int64 { return s.Fallbacks })),
		monitor.Counter(carried, carriedHelp, of(func(s proxy.Stats) int64 { return s.There }), "direction", "there"),
		monitor.Counter(carried, carriedHelp, of(func(s proxy.Stats) int64 { return s.Back }), "direction", "back"),
	}
}

// logStats logs the counters at each interval, until the returned function is called.
func logStats(p *proxy.Router, every time.Duration, log *slog.Logger) (stop func()) {
	t := time.NewTicker(every)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-t.C:
				s := p.Stats()
				log.Info("connections", "open", s.Open, "ended", s.Ended, "failed", s.Failed, "fallbacks", s.Fallbacks, "there", s.There, "back", s.Back)
			case <-over:
				return
			}
		}
	}()
	return func() {
		t.Stop()
		close(over)
		<-done
	}
}
