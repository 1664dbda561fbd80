package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/conformance/spec"
	"github.com/rddp/rddp/conformance/specpeer"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

func specCommand() *cli.Command {
	return &cli.Command{
		Name:      "spec",
		Usage:     "test an iWARP peer: send exact bytes and check the exact answers",
		ArgsUsage: "ADDRESS",
		UsageText: "rddp spec [options] ADDRESS                  the peer listens at ADDRESS; this end is the MPA Initiator\n" +
			"rddp spec --listen ADDRESS [options]         the peer dials ADDRESS again and again; this end is the Responder\n" +
			"rddp spec --peer [options] ADDRESS           act as a peer that dials ADDRESS again and again\n" +
			"rddp spec --peer --listen ADDRESS [options]  act as a peer that listens\n" +
			"rddp spec --list                             list the cases",
		Description: "The peer must follow a small contract, conformance/SPEC.md. The exit status is 1 if a case fails that is not a\n" +
			"known deviation of the profile, or if there is no peer.\n\n" +
			"   one$ rddp spec --peer --listen 127.0.0.1\n" +
			"   two$ rddp spec --section 5044/7.1 127.0.0.1\n\n" +
			"The end that listens is the TLS server. Beyond loopback it listens only with TLS or --insecure: iWARP\n" +
			"hardware and siw have no TLS.",
		Flags: slices.Concat([]cli.Flag{
			listenFlag("", "listen at `ADDRESS`, HOST[:PORT] or :PORT, and wait for the other end to dial"),
			&cli.StringSliceFlag{Name: "section", Usage: "only cases whose ID begins with `PREFIX`, such as 5044 or 5044/7.1; may be repeated"},
			&cli.BoolFlag{Name: "list", Usage: "print the cases and what they require"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.StringFlag{Name: "junit", TakesFile: true, Usage: "also write a JUnit report to `FILE`"},
			&cli.StringFlag{Name: "profile", Value: "rfc", Usage: "the implementation whose deviations are known: `rfc or siw`"},
			timeoutFlag(5 * time.Second),
			&cli.DurationFlag{Name: "wait", Value: time.Minute, Usage: "with --listen: wait at most this long for the peer's first connection"},
			&cli.BoolFlag{Name: "peer", Usage: "act as the peer"},
			&cli.BoolFlag{Name: "no-crc", Usage: "peer: no CRC32C on FPDUs unless the other end wants it"},
			&cli.BoolFlag{Name: "markers", Usage: "peer: ask for Markers"},
			&cli.BoolFlag{Name: "p2p", Usage: "peer: ask for the peer-to-peer model when dialing"},
			&cli.BoolFlag{Name: "no-extensions", Usage: "peer: neither atomics nor Immediate Data"},
		}, logFlags("peer: log why connections ended"), tlsFlags(tlsServer|tlsClient)),
		Action: runSpec,
	}
}

func runSpec(ctx context.Context, c *cli.Command) error {
	if err := checkSpec(c); err != nil {
		return err
	}
	if c.Bool("list") {
		return listCases(c)
	}
	address, err := specAddress(c)
	if err != nil {
		return err
	}
	if c.Bool("peer") {
		return runPeer(ctx, c, address)
	}
	cfg := spec.Config{
		Part: specPart(c), Address: address, Sections: c.StringSlice("section"),
		Profile: spec.Profiles()[c.String("profile")], Timeout: c.Duration("timeout"),
	}
	closeListener, err := specOpen(ctx, c, &cfg)
	if err != nil {
		return err
	}
	defer closeListener()
	return runCases(ctx, c, cfg)
}

// specAddress returns the address at which this end or the other end listens.
func specAddress(c *cli.Command) (string, error) {
	text := c.Args().First()
	if c.IsSet("listen") {
		text = c.String("listen")
	}
	return tcpAddress(text, cliparse.DefaultPort)
}

// checkSpec checks the command line. Its errors are *usageErrors.
func checkSpec(c *cli.Command) error {
	profiles := slices.Sorted(maps.Keys(spec.Profiles()))
	peer, listen := c.Bool("peer"), c.IsSet("listen")
	switch {
	case !slices.Contains(profiles, c.String("profile")):
		return usage("--profile %s: must be one of %s", c.String("profile"), strings.Join(profiles, ", "))
	case c.Duration("timeout") <= 0:
		return usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	case c.Duration("wait") <= 0:
		return usage("--wait %v: must be more than zero", c.Duration("wait"))
	case len(spec.Select(0, c.StringSlice("section"))) == 0:
		return usage("no case begins with %s", strings.Join(c.StringSlice("section"), " or "))
	case !c.Bool("list") && !peer && len(spec.Select(specPart(c), c.StringSlice("section"))) == 0:
		return usage("no case for a peer that is the %v", specPart(c))
	case (c.Bool("list") || listen) && c.NArg() != 0:
		return usage("unexpected argument %q", c.Args().First())
	case !c.Bool("list") && !listen && c.NArg() != 1:
		return usage("give one ADDRESS, or --listen ADDRESS")
	case peer && (c.Bool("json") || c.IsSet("junit") || c.IsSet("section")):
		return usage("--peer cannot be combined with --json, --junit or --section")
	}
	return nil
}

// specPart returns the role of the tested peer.
func specPart(c *cli.Command) spec.Part {
	if c.IsSet("listen") {
		return spec.Initiator
	}
	return spec.Responder
}

// specOpen sets cfg.Open. With --listen it waits for the first connection, because someone may have
// to start the peer on another host.
func specOpen(ctx context.Context, c *cli.Command, cfg *spec.Config) (closeListener func(), err error) {
	if !c.IsSet("listen") {
		config, err := clientTLS(c, serverOnly...)
		if err != nil {
			return nil, err
		}
		over := &specTLS{config: config()}
		cfg.Open = func(ctx context.Context) (net.Conn, error) {
			if err := over.fits(); err != nil {
				return nil, err
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", cfg.Address)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cfg.Address, errtext.Brief(err))
			}
			return over.client(ctx, conn, cfg.Address)
		}
		return func() {}, nil
	}
	config, err := serverTLS(ctx, c, cfg.Address)
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", cfg.Address, errtext.Brief(err))
	}
	newLog(c).Info("listening", "address", l.Addr())
	tcp := l.(*net.TCPListener)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	waiting, waited := context.WithTimeout(ctx, c.Duration("wait"))
	defer waited()
	end, _ := waiting.Deadline()
	_ = tcp.SetDeadline(end)
	over := &specTLS{config: config}
	accept := func(ctx context.Context) (net.Conn, error) {
		if err := over.fits(); err != nil {
			return nil, err // check before waiting for a connection: the peer may have given up
		}
		conn, err := tcp.Accept()
		if err != nil {
			return nil, err
		}
		return over.server(ctx, conn)
	}
	first, err := accept(waiting)
	if err != nil {
		stop()
		l.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) || waiting.Err() != nil { // with TLS, a peer may connect and stay silent
			err = fmt.Errorf("no connection within %v", c.Duration("wait"))
		}
		return nil, &spec.NoPeerError{Err: err}
	}
	cfg.Open = func(ctx context.Context) (conn net.Conn, err error) {
		if conn, first = first, nil; conn != nil {
			return conn, nil
		}
		end, _ := ctx.Deadline()
		_ = tcp.SetDeadline(end)
		return accept(ctx)
	}
	return func() {
		stop()
		l.Close()
		if first != nil {
			first.Close()
		}
	}, nil
}

// specTLS applies TLS to connections with the peer. If one connection shows that the two ends
// disagree about TLS, later connections fail with the reason, so the run ends with it.
type specTLS struct {
	config *tls.Config // nil: no TLS
	wrong  atomic.Pointer[error]
}

// fits returns a *spec.NoPeerError with the reason if a connection has shown that the two ends
// disagree about TLS.
func (s *specTLS) fits() error {
	if err := s.wrong.Load(); err != nil {
		return &spec.NoPeerError{Err: tlshandshake.Brief(*err)}
	}
	return nil
}

// client runs the client side of TLS, if configured, on a connection to address.
func (s *specTLS) client(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if s.config == nil {
		return s.over(conn, conn.(halfCloser), nil)
	}
	config := s.config
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = tlshandshake.NameAt(address)
	}
	t := tls.Client(conn, config)
	return s.over(conn, t, tlshandshake.Client(ctx, t))
}

// server runs the server side of TLS, if configured, on an accepted connection.
func (s *specTLS) server(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if s.config == nil {
		return s.over(conn, conn.(halfCloser), nil)
	}
	t := tls.Server(conn, s.config)
	return s.over(conn, t, tlshandshake.Server(ctx, t))
}

// over returns the connection t over conn, or the handshake error err.
func (s *specTLS) over(conn net.Conn, t halfCloser, err error) (net.Conn, error) {
	if err != nil {
		conn.Close()
		return nil, tlshandshake.Brief(err)
	}
	return &specConn{halfCloser: t, tcp: conn.(*net.TCPConn), s: s}, nil
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// A specConn is a net.Conn with the additional operations that cases need: a half-close, and a TCP
// reset.
type specConn struct {
	halfCloser
	tcp  *net.TCPConn
	s    *specTLS
	read bool // Read has returned data
}

func (c *specConn) SetLinger(seconds int) error { return c.tcp.SetLinger(seconds) }

func (c *specConn) Read(p []byte) (n int, err error) {
	n, err = c.halfCloser.Read(p)
	why := tlshandshake.Explain(err)
	if !c.read && n > 0 {
		c.read, why = true, tlshandshake.Speaks(p[:n])
	}
	if tlshandshake.Words(why) != "" {
		c.s.wrong.Store(&why)
	}
	return n, err
}

// runCases runs the cases and reports the results.
func runCases(ctx context.Context, c *cli.Command, cfg spec.Config) error {
	var junit *os.File
	if file := c.String("junit"); file != "" { // create the file before the long run
		var err error
		if junit, err = os.Create(file); err != nil {
			return err
		}
	}
	out := c.Root().Writer
	printer := spec.NewPrinter(out)
	if !c.Bool("json") {
		cfg.Done = printer.Print
	}
	report, err := spec.Run(ctx, cfg)
	var write error
	if c.Bool("json") {
		write = report.WriteJSON(out)
	} else if len(report.Results) > 0 {
		write = printer.Close(report)
	}
	if junit != nil {
		write = errors.Join(write, report.WriteJUnit(junit), junit.Close())
	}
	if err = errors.Join(err, write); err == nil && report.Failed() {
		return fmt.Errorf("%d of %d cases failed", report.Count(spec.StatusFail), len(report.Results))
	}
	return err
}

func listCases(c *cli.Command) error {
	for _, q := range spec.Select(0, c.StringSlice("section")) {
		if _, err := fmt.Fprintf(c.Root().Writer, "%s (peer: %v)\n    %s\n    %s\n", q.ID, q.Part, q.Requirement, strings.Join(q.IDs, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// runPeer acts as the peer that conformance/SPEC.md describes.
func runPeer(ctx context.Context, c *cli.Command, address string) error {
	log := newLog(c)
	p := &specpeer.Peer{
		Socket: extsock.Config{
			NoCRC: c.Bool("no-crc"), Markers: c.Bool("markers"), PeerToPeer: c.Bool("p2p"),
			RTR: mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead,
		},
		NoExtensions: c.Bool("no-extensions"),
	}
	p.Failed = func(err error) {
		level := slog.LevelDebug
		if tlshandshake.Words(err) != "" {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "connection failed", "err", errtext.Brief(err))
	}
	if !c.IsSet("listen") {
		config, err := clientTLS(c, serverOnly...)
		if err != nil {
			return err
		}
		p.Socket.TLS = config()
		return p.Dial(ctx, address)
	}
	var err error
	if p.Socket.TLS, err = serverTLS(ctx, c, address); err != nil {
		return err
	}
	l, err := extsock.Listen("tcp", address, p.Config())
	if err != nil {
		return err
	}
	log.Info("listening", "address", l.Addr())
	return p.Serve(ctx, l)
}
