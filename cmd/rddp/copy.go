package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
	"github.com/rddp/rddp/cmd/rddp/internal/filecopy"
	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
	"github.com/rddp/rddp/extsock"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve the files below a directory to `rddp cp`",
		ArgsUsage: "DIR",
		Description: "Every client can read all files below DIR, and with -w write there. Clients cannot reach anything outside DIR.\n" +
			"After an interrupt serve ends when the copies that are under way have ended, or after --grace. A second\n" +
			"interrupt ends it at once.\n\n" +
			fmt.Sprintf(tlsHelp, "serve", "--listen :7174 DIR", "cp", "rddp://far/FILE ."),
		Flags: slices.Concat([]cli.Flag{
			listenFlag(net.JoinHostPort(loopback, cliparse.DefaultPort), "listen at `ADDRESS`: HOST[:PORT] or :PORT"),
			&cli.BoolFlag{Name: "writable", Aliases: []string{"w"}, Usage: "let clients put files and make directories"},
			maxConnsFlag(filecopy.DefaultMaxConns),
			hugePagesFlag(),
			&cli.DurationFlag{Name: "idle", Value: filecopy.DefaultIdleTimeout, Usage: "close a connection that is silent for longer than this"},
			graceFlag(filecopy.DefaultGrace),
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the client wants it; SHA-256 is always compared"},
			metricsFlag(),
		}, logFlags("log each connection and file"), tlsFlags(tlsServer)),
		Action: func(ctx context.Context, c *cli.Command) error {
			switch {
			case c.NArg() != 1:
				return usage("give one DIR")
			case c.Int("max-conns") < 1:
				return usage("--max-conns %d: at least 1", c.Int("max-conns"))
			case c.Duration("idle") < time.Second:
				return usage("--idle %v: at least 1s", c.Duration("idle"))
			case c.Duration("grace") < 0:
				return usage("--grace %v: must not be negative", c.Duration("grace"))
			}
			address, err := tcpAddress(c.String("listen"), cliparse.DefaultPort)
			if err != nil {
				return err
			}
			config, err := serverTLS(ctx, c, address)
			if err != nil {
				return err
			}
			log := newLog(c)
			counts := &filecopy.Counts{}
			stop, err := serveMetrics(ctx, c, config, fileMetrics(counts)...)
			if err != nil {
				return err
			}
			defer stop()
			stopPages, err := hugePages(ctx, c, log)
			if err != nil {
				return err
			}
			defer stopPages()
			s, err := filecopy.Listen(address, c.Args().First(), &filecopy.ServerConfig{
				Writable: c.Bool("writable"), MaxConns: c.Int("max-conns"), IdleTimeout: c.Duration("idle"), Grace: c.Duration("grace"), Log: log, Counts: counts,
				Socket: extsock.Config{NoCRC: c.Bool("no-crc"), TLS: config},
			})
			if err != nil {
				return err
			}
			log.Info("listening", "directory", c.Args().First(), "writable", c.Bool("writable"), "address", s.Addr())
			defer notifyReady(ctx, log)()
			defer logInterrupted(ctx, c, log, func() int64 { return counts.Open.Load() })()
			return s.Serve(ctx)
		},
	}
}

// fileMetrics returns the metrics of a file server, without those of its connections in DDP mode.
func fileMetrics(n *filecopy.Counts) []prometheus.Collector {
	const (
		files, filesHelp = "rddp_serve_files_total", "Copies of files that have come to their end: sent to clients, and received from them."
		bytes, bytesHelp = "rddp_serve_bytes_total", "Bytes of files that have moved, without headers."
	)
	of := func(n *atomic.Uint64) func() float64 { return func() float64 { return float64(n.Load()) } }
	all := []prometheus.Collector{
		monitor.Gauge("rddp_serve_connections_open", "Connections of clients under way.", func() float64 { return float64(n.Open.Load()) }),
		monitor.Counter("rddp_serve_connections_total", "Connections of clients.", of(&n.Connections)),
		monitor.Counter(files, filesHelp, of(&n.Sent.Files), "direction", "sent"),
		monitor.Counter(files, filesHelp, of(&n.Received.Files), "direction", "received"),
		monitor.Counter(bytes, bytesHelp, of(&n.Sent.Octets), "direction", "sent"),
		monitor.Counter(bytes, bytesHelp, of(&n.Received.Octets), "direction", "received"),
	}
	for kind, count := range n.Failures() {
		all = append(all, monitor.Counter("rddp_serve_failures_total", "Requests and connections of clients that have failed.", of(count), "kind", kind))
	}
	return all
}

// startupTimeout is the maximum time that cp waits for the server during MPA startup.
const startupTimeout = 10 * time.Second

func cpCommand() *cli.Command {
	return &cli.Command{
		Name:      "cp",
		Usage:     "copy files to or from `rddp serve`, by RDMA",
		ArgsUsage: "SRC... DST",
		Description: "Remote names are rddp://HOST[:PORT]/PATH. PATH is relative to the served directory. The default port is\n" +
			"7174; IPv6 addresses are in brackets; there are no percent-escapes. All other names are local. Either the\n" +
			"sources or DST are remote, but not both.\n\n" +
			"   rddp cp rddp://host/big.iso .            download a file\n" +
			"   rddp cp -r photos rddp://[fe80::1]:9000/ upload a directory\n" +
			"   tar c . | rddp cp - rddp://host/all.tar  upload standard input\n" +
			"   rddp cp rddp://host/all.tar - | tar t    print a file\n\n" +
			"- means standard input or output. The data goes through a temporary file: what is printed or stored is\n" +
			"complete. In a directory, standard input gets the name stdin.\n\n" +
			"cp keeps permission bits and modification times, and compares contents by SHA-256. An interrupted copy is\n" +
			"kept as .NAME.rddp-part. The same command then continues the copy, and does not send again what has\n" +
			"arrived already. With -r, that is so only if DST was there before: a directory that is there gets a copy\n" +
			"of SRC in it. With -r, cp copies only regular files and directories.\n\n" +
			"With --json, cp prints what it has copied: one object with the numbers of files, and of bytes. With -n as\n" +
			"well it prints an object for each file that would be copied.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r"}, Usage: "copy directories and everything in them"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "copy nothing; print what would be copied"},
			jsonFlag(),
			&cli.BoolFlag{Name: "progress", Usage: "show the progress even if standard error is not a terminal"},
			timeoutFlag(filecopy.DefaultIdleTimeout),
			&cli.BoolFlag{Name: "no-crc", Usage: "no CRC32C on FPDUs unless the server wants it; SHA-256 is always compared"},
		}, tlsFlags(tlsClient)...),
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
	config, err := clientTLS(c, serverOnly...)
	if err != nil {
		return err
	}
	stderr := c.Root().ErrWriter
	var bar copyBar
	cfg := &filecopy.Config{
		Recursive: c.Bool("recursive"), IdleTimeout: c.Duration("timeout"),
		// A server that is silent from the start gets no more time than one that falls silent
		// later.
		Socket: extsock.Config{NoCRC: c.Bool("no-crc"), TLS: config(), HandshakeTimeout: min(c.Duration("timeout"), startupTimeout)},
		Failed: func(name string, err error) {
			bar.clear()
			fmt.Fprintf(stderr, "rddp cp: %s: %v\n", name, err)
		},
		Skipped: func(name string, why error) {
			bar.clear()
			fmt.Fprintf(stderr, "rddp cp: %s: skipped: it %v\n", name, why)
		},
	}
	stdin, stdout, err := throughFiles(ctx, c, names)
	if err != nil {
		return err
	}
	defer stdout.remove()
	defer stdin.remove()
	cfg.Temporary = stdin != nil || stdout != nil
	if c.Bool("dry-run") {
		cfg.Plan = func(from, to string, size int64) {
			if c.Bool("json") {
				_ = json.NewEncoder(c.Root().Writer).Encode(planned{from, to, size})
				return
			}
			fmt.Fprintf(c.Root().Writer, "%s -> %s (%d bytes)\n", from, to, size)
		}
	} else if c.Bool("progress") || term.IsTerminal(int(os.Stderr.Fd())) {
		cfg.Progress = func(p filecopy.Progress) { bar.show(stderr, p) }
	}
	var only error
	if len(names) == 2 && !cfg.Recursive { // the error of the only file is the error of the command
		cfg.Failed = func(name string, err error) { only = fmt.Errorf("%s: %w", name, err) }
	}
	sum, err := filecopy.Copy(ctx, names[:len(names)-1], names[len(names)-1], cfg)
	bar.finish(stderr)
	if c.Bool("json") && cfg.Plan == nil && !errors.Is(err, filecopy.ErrNames) {
		if e := json.NewEncoder(c.Root().Writer).Encode(copied(sum)); err == nil {
			err = e
		}
	}
	switch {
	case errors.Is(err, filecopy.ErrFailed) && only != nil:
		return only
	case errors.Is(err, context.Canceled) && !cfg.Temporary:
		return errors.New(interrupted(cfg.Recursive))
	case errors.Is(err, filecopy.ErrNames):
		return usage("%w", err)
	case err == nil:
		return stdout.print(ctx, c.Root().Writer)
	}
	return err
}

// A copied is the object of cp --json.
type copied struct {
	Files   int   `json:"files"` // copied or already there
	Failed  int   `json:"failed"`
	Skipped int   `json:"skipped"`
	Octets  int64 `json:"bytes"`         // that were moved
	Resumed int64 `json:"resumed_bytes"` // that were already there
}

// A planned is an object of cp --json --dry-run.
type planned struct {
	From string `json:"from"`
	To   string `json:"to"`
	Size int64  `json:"size"`
}

func interrupted(recursive bool) string {
	if recursive {
		return "interrupted; the same command continues the copy if DST was there before"
	}
	return "interrupted; the same command continues the copy"
}

// A tempFile is a file, in its own directory, that replaces standard input or output. A nil
// *tempFile is no file.
type tempFile struct{ dir, name string }

// throughFiles replaces the names of standard input or output by those of temporary files. It
// stores all of standard input.
func throughFiles(ctx context.Context, c *cli.Command, names []filecopy.Name) (stdin, stdout *tempFile, err error) {
	last := len(names) - 1
	for i := range names {
		if names[i].IsRemote() || names[i].Path != "-" {
			continue
		}
		switch {
		case c.Bool("dry-run") || c.Bool("recursive"):
			return nil, nil, usage("- does not go with --dry-run or --recursive")
		case c.Bool("json") && i == last:
			return nil, nil, usage("standard output gets the file, so --json does not go with -")
		case last != 1:
			return nil, nil, usage("- stands for one file: give one SRC and DST")
		case !names[1-i].IsRemote():
			return nil, nil, usage("neither %v nor %v is remote (rddp://HOST[:PORT]/PATH)", names[0], names[1])
		}
		f := &tempFile{name: "stdin"}
		if f.dir, err = os.MkdirTemp("", "rddp-cp-"); err != nil {
			return nil, nil, err
		}
		f.name = filepath.Join(f.dir, f.name)
		names[i].Path = f.name
		if i == last {
			return nil, f, nil
		}
		if err := interruptible(ctx, func() error { return f.store(c.Root().Reader) }); err != nil {
			f.remove()
			return nil, nil, fmt.Errorf("standard input: %w", err)
		}
		stdin = f
	}
	return stdin, nil, nil
}

func (f *tempFile) store(r io.Reader) error {
	file, err := os.Create(f.name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}

// print writes the file to w. It first removes the file, because a signal ends this process if the
// reader of standard output goes away.
func (f *tempFile) print(ctx context.Context, w io.Writer) error {
	if f == nil {
		return nil
	}
	file, err := os.Open(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was copied, and the reason has been reported
	}
	if err != nil {
		return err
	}
	f.remove() // fails on Windows, where the caller removes the file later
	return interruptible(ctx, func() error {
		_, err := io.Copy(w, file)
		return errors.Join(err, file.Close())
	})
}

func (f *tempFile) remove() {
	if f != nil {
		os.RemoveAll(f.dir)
	}
}

func lsCommand() *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list a directory of `rddp serve`",
		ArgsUsage: "NAME...",
		Description: "NAME is rddp://HOST[:PORT]/PATH, as for `rddp cp`. A line has the permission bits, the size in bytes, the time\n" +
			"of modification, and the name.\n\n" +
			"   rddp ls rddp://host/\n" +
			"   rddp ls --json rddp://host/photos | jq -r .name",
		Flags:  slices.Concat([]cli.Flag{jsonFlag(), timeoutFlag(filecopy.DefaultIdleTimeout)}, tlsFlags(tlsClient)),
		Action: runList,
	}
}

// A listed is an object of ls --json.
type listed struct {
	Name  string `json:"name"`
	Bytes []byte `json:"name_base64,omitempty"` // for a name that is not UTF-8, which Name cannot represent
	Type  string `json:"type"`                  // "file", "directory" or "other"
	Mode  string `json:"mode"`                  // octal
	Size  int64  `json:"size"`
	Mtime string `json:"mtime"` // RFC 3339, even for years that time.Time does not marshal
}

func listedOf(e filecopy.Entry) listed {
	l := listed{Name: e.Name, Type: e.Type, Mode: fmt.Sprintf("%04o", e.Perm), Size: e.Size, Mtime: e.Mtime.UTC().Format(time.RFC3339Nano)}
	if !utf8.ValidString(e.Name) {
		l.Bytes = []byte(e.Name)
	}
	return l
}

func runList(ctx context.Context, c *cli.Command) error {
	switch {
	case !c.Args().Present():
		return usage("give at least one NAME")
	case c.Duration("timeout") < time.Second:
		return usage("--timeout %v: at least 1s", c.Duration("timeout"))
	}
	var names []filecopy.Name
	for _, arg := range c.Args().Slice() {
		n, err := filecopy.ParseName(arg)
		if err != nil {
			return usage("%w", err)
		}
		if !n.IsRemote() {
			return usage("%s is not remote: a remote name is rddp://HOST[:PORT]/PATH", arg)
		}
		names = append(names, n)
	}
	config, err := clientTLS(c, serverOnly...)
	if err != nil {
		return err
	}
	cfg := &filecopy.Config{
		IdleTimeout: c.Duration("timeout"),
		Socket:      extsock.Config{TLS: config(), HandshakeTimeout: min(c.Duration("timeout"), startupTimeout)},
	}
	for _, n := range names {
		entries, err := filecopy.List(ctx, n, cfg)
		if err != nil {
			return fmt.Errorf("%v: %w", n, err)
		}
		for _, e := range entries {
			if c.Bool("json") {
				err = json.NewEncoder(c.Root().Writer).Encode(listedOf(e))
			} else {
				_, err = fmt.Fprintln(c.Root().Writer, e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A copyBar shows the progress of a copy. The zero value shows nothing yet.
type copyBar struct{ bar *progressbar.ProgressBar }

// show draws the bar. Errors do not affect the copy.
func (b *copyBar) show(w io.Writer, p filecopy.Progress) {
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(max(p.TotalOctets, 1), progressbar.OptionSetWriter(w),
			progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true), progressbar.OptionFullWidth(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetRenderBlankState(true))
	}
	b.bar.Describe(fmt.Sprintf("%d/%d %s", p.Files, p.TotalFiles, shorten(p.Name)))
	_ = b.bar.Set64(min(p.Octets, max(p.TotalOctets, 1)))
}

// shorten returns name, or its end if name is too long for the bar.
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
