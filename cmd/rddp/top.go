package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
)

// topTimeout is the default time that `rddp top` waits for an answer.
const topTimeout = 5 * time.Second

func topCommand() *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "show the connections of a command that runs with --metrics",
		ArgsUsage: "ADDRESS",
		Description: "ADDRESS is the --metrics address of `rddp serve`, `rddp proxy` or `rddp run`. On a terminal, top shows its\n" +
			"connections in DDP mode, the busiest first, until it is interrupted, and leaves the last view. Elsewhere it\n" +
			"prints one view after the other. Rates are those since the view before, and in the first view those since\n" +
			"the beginning.\n\n" +
			"   near$ rddp serve --metrics 127.0.0.1:9174 DIR\n" +
			"   near$ rddp top 127.0.0.1:9174\n" +
			"   near$ rddp top --once --json 127.0.0.1:9174 | jq 'select(.kind == \"connection\") | .peer'\n\n" +
			"Bytes are those of FPDUs, with all headers. MESSAGES are RDMA Messages in both directions. STALLS counts\n" +
			"Writes to a byte stream that had to wait until the peer's program had read.",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "interval", Aliases: []string{"i"}, Value: time.Second, Usage: "ask again after this time"},
			&cli.BoolFlag{Name: "once", Usage: "show one view and end"},
			timeoutFlag(topTimeout),
			jsonFlag(),
		}, tlsFlags(tlsClient)...),
		Action: runTop,
	}
}

func runTop(ctx context.Context, c *cli.Command) error {
	switch {
	case c.NArg() != 1:
		return usage("give one ADDRESS")
	case c.Duration("interval") <= 0:
		return usage("--interval %v: must be more than zero", c.Duration("interval"))
	case c.Bool("once") && c.IsSet("interval"):
		return usage("give either --once or --interval")
	case c.Duration("timeout") <= 0:
		return usage("--timeout %v: must be more than zero", c.Duration("timeout"))
	}
	address, err := tcpAddress(c.Args().First(), "")
	if err != nil {
		return err
	}
	config, err := clientTLS(c, serverOnly...)
	if err != nil {
		return err
	}
	client := monitor.NewClient(address, config(), c.Duration("timeout"))
	defer client.Close()
	now, err := client.Get(ctx)
	if err != nil {
		return err
	}
	show, leave := topView(c)
	defer leave()
	tick := time.NewTicker(c.Duration("interval"))
	defer tick.Stop()
	for before := (*monitor.Snapshot)(nil); ; {
		if err := show(before, now); err != nil || c.Bool("once") {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		next, err := client.Get(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		before, now = now, next
	}
}

// topView returns a function that shows a snapshot, and one that ends the display and keeps the
// last view.
func topView(c *cli.Command) (show func(before, now *monitor.Snapshot) error, leave func()) {
	w := c.Root().Writer
	nothing := func() {}
	if c.Bool("json") {
		return func(_, now *monitor.Snapshot) error { return printSnapshot(w, now) }, nothing
	}
	if fd, is := terminal(w); is && !c.Bool("once") {
		s := &screen{w: w, size: func() (width, height int, err error) { return term.GetSize(fd) }}
		return s.show, s.leave
	}
	views := 0
	return func(before, now *monitor.Snapshot) error {
		text := strings.Join(monitor.Frame(before, now, 0, 0), "\n") + "\n"
		if views++; views > 1 {
			text = "\n" + text
		}
		_, err := io.WriteString(w, text)
		return err
	}, nothing
}

func printSnapshot(w io.Writer, s *monitor.Snapshot) error {
	lines := json.NewEncoder(w)
	err := lines.Encode(s.Process)
	for i := range s.Connections {
		if err == nil {
			err = lines.Encode(s.Connections[i])
		}
	}
	return err
}

// terminal returns the descriptor of standard output, if it is a terminal.
func terminal(w io.Writer) (fd int, is bool) {
	out, ok := w.(*checkedWriter)
	if !ok {
		return 0, false
	}
	f, ok := out.w.(*os.File)
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// A screen is a terminal on which each view replaces the previous one. It uses the alternate
// screen, so the user's earlier output is kept.
type screen struct {
	w    io.Writer
	size func() (width, height int, err error)
	last []string // nil: nothing has been shown
}

// Escape sequences: enter the alternate screen and hide the cursor; leave it and show the cursor;
// move to the top; erase the rest of the line; erase the rest of the screen.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	goHome      = "\x1b[H"
	eraseLine   = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

func (s *screen) show(before, now *monitor.Snapshot) error {
	width, height, err := s.size()
	if err != nil {
		return err
	}
	text := goHome
	if s.last == nil {
		text = enterScreen + goHome
	}
	s.last = monitor.Frame(before, now, width, height)
	_, err = io.WriteString(s.w, text+strings.Join(s.last, eraseLine+"\r\n")+eraseLine+eraseBelow)
	return err
}

// leave returns to the normal screen and prints the last view there.
func (s *screen) leave() {
	if s.last != nil {
		_, _ = io.WriteString(s.w, leaveScreen+strings.Join(s.last, "\n")+"\n") // checkedWriter keeps the error
	}
}
