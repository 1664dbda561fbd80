package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/ping"
	"github.com/rddp/rddp/extsock"
)

func pingCommand() *cli.Command {
	return &cli.Command{
		Name:  "ping",
		Usage: "ping with RDMA Read and RDMA Write, as rping does, in both roles",
		UsageText: "rddp ping -s [options]            answer pings\n" +
			"rddp ping -c -a ADDRESS [options] ping a server, this one or Linux's rping",
		Description: fmt.Sprintf(tlsHelp, "ping", "-s -a far", "ping", "-c -a far"),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "server", Aliases: []string{"s"}, Usage: "answer pings"},
			&cli.BoolFlag{Name: "client", Aliases: []string{"c"}, Usage: "send pings"},
			&cli.StringFlag{Name: "address", Aliases: []string{"a"}, Usage: "client: the server's `ADDRESS`; server: the address to listen at (default: 127.0.0.1)"},
			&cli.Uint16Flag{Name: "port", Aliases: []string{"p"}, Value: 7174, Usage: "TCP `PORT`"},
			&cli.IntFlag{Name: "count", HideDefault: true, Aliases: []string{"C"}, Usage: "client: make `N` pings (default: until interrupted)"},
			&cli.IntFlag{Name: "size", HideDefault: true, Aliases: []string{"S"}, Usage: "client: ping data of `N` bytes (default: 64); server: the maximum that it accepts (default: 64 MiB)"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print the ping data"},
			&cli.BoolFlag{Name: "validate", Aliases: []string{"V"}, Usage: "client: compare the data received with the data sent"},
			&cli.BoolFlag{Name: "persistent", Aliases: []string{"P"}, Usage: "server: serve connections until interrupted, several at a time"},
			&cli.BoolFlag{Name: "debug", Aliases: []string{"d"}, Usage: "log each step to standard error"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "wait for the peer at most this long"},
			&cli.IntFlag{Name: "revision", HideDefault: true, Usage: "client: MPA revision `1 or 2` (default: 2, then 1 if there is no Reply)"},
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the peer wants it"},
			&cli.BoolFlag{Name: "markers", Usage: "ask the peer for Markers; Linux's siw refuses"},
			&cli.BoolFlag{Name: "p2p", Usage: "client: ask for the peer-to-peer model of RFC 6581"},
			&cli.StringFlag{Name: "rtr", Usage: "kinds of RTR: `LIST` of send, write, read (default: client with --p2p write,read; server all)"},
		}, tlsFlags(tlsServer|tlsClient)...),
		Action: runPing,
	}
}

func runPing(ctx context.Context, c *cli.Command) error {
	cfg, err := pingConfig(c)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(c.String("address"), strconv.Itoa(int(c.Uint16("port"))))
	if c.Bool("server") {
		if !c.IsSet("address") {
			address = net.JoinHostPort(loopback, strconv.Itoa(int(c.Uint16("port"))))
		}
		if cfg.Socket.TLS, err = serverTLS(ctx, c, address); err != nil {
			return err
		}
		s, err := ping.Listen(address, cfg)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Root().ErrWriter, "rddp ping: listening at %v\n", s.Addr())
		return s.Serve(ctx)
	}
	config, err := clientTLS(c, serverOnly...)
	if err != nil {
		return err
	}
	cfg.Socket.TLS = config()
	summary, err := ping.Client(ctx, address, cfg)
	if summary.Pings > 0 || err == nil {
		fmt.Fprintln(c.Root().Writer, summary)
	}
	return err
}

// pingConfig returns the configuration that the command line asks for. Its errors are *usageErrors.
func pingConfig(c *cli.Command) (*ping.Config, error) {
	rtr, err := ping.ParseRTR(c.String("rtr"))
	switch {
	case err != nil:
		return nil, usage("--rtr: %w", err)
	case c.Args().Present():
		return nil, usage("unexpected argument %q", c.Args().First())
	case c.Bool("server") == c.Bool("client"):
		return nil, usage("give either -s (server) or -c (client)")
	case c.Bool("client") && c.String("address") == "":
		return nil, usage("-c needs -a ADDRESS")
	case c.IsSet("size") && (c.Int("size") < 1 || c.Int("size") > ping.MaxSize):
		return nil, usage("-S %d: the size is 1 to %d bytes", c.Int("size"), ping.MaxSize)
	case c.Int("count") < 0:
		return nil, usage("-C %d: the count is negative", c.Int("count"))
	case c.IsSet("revision") && c.Int("revision") != 1 && c.Int("revision") != 2:
		return nil, usage("--revision %d: MPA has revisions 1 and 2", c.Int("revision"))
	case c.Duration("timeout") <= 0:
		return nil, usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	}
	cfg := &ping.Config{
		Size: c.Int("size"), Count: c.Int("count"), Validate: c.Bool("validate"), Verbose: c.Bool("verbose"),
		Persistent: c.Bool("persistent"), Timeout: c.Duration("timeout"), Out: c.Root().Writer,
		Failed: func(peer net.Addr, err error) {
			fmt.Fprintf(c.Root().ErrWriter, "rddp ping: connection from %v: %v\n", peer, err)
		},
		Socket: extsock.Config{
			Revision: c.Int("revision"), NoCRC: c.Bool("no-crc"), Markers: c.Bool("markers"), PeerToPeer: c.Bool("p2p"), RTR: rtr,
		},
	}
	if c.Bool("debug") {
		cfg.Trace = slog.New(slog.NewTextHandler(c.Root().ErrWriter, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cfg, nil
}
