package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rddp/rddp/cmd/rddp/internal/filecopy"
	"github.com/rddp/rddp/extsock"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve the files below a directory to `rddp cp`",
		ArgsUsage: "DIR",
		Description: "Whoever can connect can read all files below DIR, and with -w write there: there is no authentication\n" +
			"and no encryption. Nothing outside DIR can be reached.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "address", Aliases: []string{"a"}, Value: ":" + filecopy.DefaultPort, Usage: "listen at `ADDR:PORT`"},
			&cli.BoolFlag{Name: "writable", Aliases: []string{"w"}, Usage: "let clients put files and make directories"},
			&cli.IntFlag{Name: "connections", Value: filecopy.DefaultMaxConns, Usage: "take at most `N` connections at a time"},
			&cli.DurationFlag{Name: "timeout", Value: filecopy.DefaultIdleTimeout, Usage: "end a connection that is silent for so long"},
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the client wants it; SHA-256 is always compared"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "tell each connection and file on standard error"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			switch {
			case c.NArg() != 1:
				return usage("give one DIR")
			case c.Int("connections") < 1:
				return usage("--connections %d: at least 1", c.Int("connections"))
			case c.Duration("timeout") < time.Second:
				return usage("--timeout %v: at least 1s", c.Duration("timeout"))
			}
			level := slog.LevelWarn
			if c.Bool("verbose") {
				level = slog.LevelDebug
			}
			stderr := c.Root().ErrWriter
			s, err := filecopy.Listen(ctx, c.String("address"), c.Args().First(), &filecopy.ServerConfig{
				Writable: c.Bool("writable"), MaxConns: c.Int("connections"), IdleTimeout: c.Duration("timeout"),
				Log:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),
				Socket: extsock.Config{NoCRC: c.Bool("no-crc")},
			})
			if err != nil {
				return err
			}
			mode := "read-only"
			if c.Bool("writable") {
				mode = "writable"
			}
			fmt.Fprintf(stderr, "serving %s (%s) at %v\n", c.Args().First(), mode, s.Addr())
			return s.Serve(ctx)
		},
	}
}

// startupTimeout is how long cp waits for a server's part in MPA startup.
const startupTimeout = 10 * time.Second

func cpCommand() *cli.Command {
	return &cli.Command{
		Name:      "cp",
		Usage:     "copy files to or from `rddp serve`, by RDMA",
		ArgsUsage: "SRC... DST",
		Description: "Remote names are rddp://HOST[:PORT]/PATH, PATH being relative to the directory served (port 7174 if none\n" +
			"is given, IPv6 addresses in brackets, no percent-escapes). All other names are local. Either the sources\n" +
			"or DST are remote, not both.\n\n" +
			"   rddp cp rddp://host/big.iso .            download a file\n" +
			"   rddp cp -r photos rddp://[fe80::1]:9000/ upload a directory\n\n" +
			"Permission bits and modification times are kept, contents compared by SHA-256. What is interrupted is\n" +
			"kept as .NAME.rddp-part: the same command again goes on from there, and does not send again what is\n" +
			"there already. With -r only regular files and directories are copied.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r"}, Usage: "copy directories with all that is in them"},
			&cli.BoolFlag{Name: "progress", Usage: "show the progress even if standard error is no terminal"},
			&cli.DurationFlag{Name: "timeout", Value: filecopy.DefaultIdleTimeout, Usage: "give up on a server that is silent for so long"},
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the server wants it; SHA-256 is always compared"},
		},
		Action: runCopy,
	}
}

func runCopy(ctx context.Context, c *cli.Command) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return usage("give at least one SRC, and DST")
	}
	if c.Duration("timeout") < time.Second {
		return usage("--timeout %v: at least 1s", c.Duration("timeout"))
	}
	var names []filecopy.Name
	for _, arg := range args {
		n, err := filecopy.ParseName(arg)
		if err != nil {
			return usage("%w", err)
		}
		names = append(names, n)
	}
	stderr := c.Root().ErrWriter
	var bar copyBar
	cfg := &filecopy.Config{
		Recursive: c.Bool("recursive"), IdleTimeout: c.Duration("timeout"),
		// A server that is silent from the start is not waited for any longer than one that falls silent.
		Socket: extsock.Config{NoCRC: c.Bool("no-crc"), HandshakeTimeout: min(c.Duration("timeout"), startupTimeout)},
		Failed: func(name string, err error) {
			bar.clear()
			fmt.Fprintf(stderr, "rddp cp: %s: %v\n", name, err)
		},
		Skipped: func(name string) {
			bar.clear()
			fmt.Fprintf(stderr, "rddp cp: %s: left out: neither a regular file nor a directory\n", name)
		},
	}
	if c.Bool("progress") || term.IsTerminal(int(os.Stderr.Fd())) {
		cfg.Progress = func(p filecopy.Progress) { bar.show(stderr, p) }
	}
	_, err := filecopy.Copy(ctx, names[:len(names)-1], names[len(names)-1], cfg)
	bar.finish(stderr)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; the same command goes on from here")
	case errors.Is(err, filecopy.ErrNames):
		return usage("%w", err)
	}
	return err
}

// A copyBar shows the progress of a copy. The zero value shows nothing yet.
type copyBar struct{ bar *progressbar.ProgressBar }

// show draws the bar. One that can't be drawn is no reason to stop.
func (b *copyBar) show(w io.Writer, p filecopy.Progress) {
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(max(p.TotalOctets, 1), progressbar.OptionSetWriter(w),
			progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true), progressbar.OptionFullWidth(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetRenderBlankState(true))
	}
	b.bar.Describe(fmt.Sprintf("%d/%d %s", p.Files, p.TotalFiles, shorten(p.Name)))
	_ = b.bar.Set64(min(p.Octets, max(p.TotalOctets, 1)))
}

// shorten returns the end of a name that is too long for the bar.
func shorten(name string) string {
	const most = 32
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

func (b *copyBar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

func (b *copyBar) finish(w io.Writer) {
	if b.bar != nil {
		_ = b.bar.Exit()
		fmt.Fprintln(w)
	}
}
