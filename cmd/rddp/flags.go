package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
	"github.com/rddp/rddp/internal/locks"
)

// This file contains the flags that several commands share, so that they have the same name and
// meaning.

// loopback is the default address at which a command listens.
const loopback = "127.0.0.1"

func listenFlag(value, usage string) cli.Flag {
	return &cli.StringFlag{Name: "listen", Aliases: []string{"l"}, Value: value, Usage: usage}
}

// timeoutFlag is the flag for the maximum time of each wait for the peer: for the connection, MPA
// startup, or an answer.
func timeoutFlag(value time.Duration) cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: value, Usage: "wait for the peer at most this long, each time"}
}

func maxConnsFlag(value int) cli.Flag {
	return &cli.IntFlag{Name: "max-conns", Value: value, Usage: "serve at most `N` connections at a time"}
}

func graceFlag(value time.Duration, aliases ...string) cli.Flag {
	return &cli.DurationFlag{Name: "grace", Aliases: aliases, Value: value, Usage: "after an interrupt or SIGTERM, give connections this much time to end"}
}

// logInterrupted logs how many connections a server still has when ctx is done, unless stop is
// called before.
func logInterrupted(ctx context.Context, c *cli.Command, log *slog.Logger, open func() int64) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if n := open(); n > 0 {
			log.Info("interrupted", "open", n, "grace", c.Duration("grace"))
		}
	})
}

// sizeFlag is a flag for a number of bytes, which usage calls `SIZE`. If the value is 0, usage must
// state the default.
func sizeFlag(name string, value cliparse.Size, usage string, aliases ...string) cli.Flag {
	return &cli.TextFlag{Name: name, Aliases: aliases, Value: &value, HideDefault: value == 0, Usage: usage}
}

// size returns the value of a sizeFlag.
func size(c *cli.Command, name string) int64 { return int64(*c.Text(name).(*cliparse.Size)) }

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}
}

// logFlags are the flags of a command with a log.
func logFlags(verbose string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log", Value: "text", Usage: "the `FORMAT` of the log on standard error: text or json", Validator: checkLog},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: verbose},
	}
}

func checkLog(format string) error {
	if format != "text" && format != "json" {
		return errors.New(strconv.Quote(format) + " is neither text nor json")
	}
	return nil
}

// newLog returns the log of a command with logFlags. The command logs its own actions at level
// Info, errors of a peer at Warn, and the details of -v at Debug.
func newLog(c *cli.Command) *slog.Logger {
	level := slog.LevelInfo
	if c.Bool("verbose") {
		level = slog.LevelDebug
	}
	return logAt(c, level)
}

func logAt(c *cli.Command, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(c.Root().ErrWriter, o)
	if c.String("log") == "json" {
		o.ReplaceAttr = inWords
		h = slog.NewJSONHandler(c.Root().ErrWriter, o)
	}
	return slog.New(limitLog(h))
}

// inWords gives a value the same form in JSON as in text: an address, for example, is one string.
func inWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindAny {
		if s, ok := a.Value.Any().(fmt.Stringer); ok {
			a.Value = slog.StringValue(s.String())
		}
	}
	return a
}

// tcpAddress parses the TCP address in a flag or an argument.
func tcpAddress(text, port string) (string, error) {
	if _, isUnix, _ := cliparse.ParseUnix(text); isUnix {
		return "", usage("%q: only `rddp proxy` has unix sockets", text)
	}
	address, err := cliparse.ParseAddress(text, port)
	if err != nil {
		return "", usage("%w", err)
	}
	return address, nil
}

// A checkedWriter is standard output. It remembers an error, because not all code that writes help
// texts and results checks for errors.
type checkedWriter struct {
	w   io.Writer
	mu  locks.Mutex[locks.Leaf]
	err error // +checklocks:mu
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}
	return n, err
}

// failed returns the last error of the writes so far, or nil.
func (w *checkedWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// numberError matches the error messages of packages strconv and time about a value, with the value
// in quotes.
var numberError = regexp.MustCompile(`(?:strconv\.\w+: parsing|time: (?:invalid|unknown|missing)[a-z ]*) ("(?:[^"\\]|\\.)*").*$`)

// valueType matches the library's words about the type of a value in an environment variable.
var valueType = regexp.MustCompile(` as \S+ value from `)

// forFlag matches the name of a flag in the library's messages, with one dash or none.
var forFlag = regexp.MustCompile(` for flag -?([a-zA-Z0-9][a-zA-Z0-9-]*):`)

// plainFlagError returns a clearer error for an error of the library about the flags of c.
func plainFlagError(c *cli.Command, err error) error {
	text := valueType.ReplaceAllString(err.Error(), " from ")
	if m := forFlag.FindStringSubmatchIndex(text); m != nil {
		text = text[:m[0]] + " for flag " + dashed(text[m[2]:m[3]]) + text[m[3]:]
	}
	if name, isUnknown := strings.CutPrefix(text, "flag provided but not defined: -"); isUnknown {
		if spaced := spacedFlag(c, name); spaced != "" {
			return fmt.Errorf("there is no flag -%s: write %s", name, spaced)
		}
		return errors.New("there is no flag " + dashed(name) + didYouMean(strings.TrimLeft(name, "-"), cli.SuggestFlag(c.Flags, name, false)))
	}
	if m := numberError.FindStringSubmatchIndex(text); m != nil {
		what := "is no number that this flag takes"
		if strings.Contains(text[m[0]:], "time: ") {
			what = "is no duration: write a number with a unit, such as 500ms, 10s or 2m"
		}
		return errors.New(text[:m[0]] + text[m[2]:m[3]] + " " + what)
	}
	if before, isBool := strings.CutSuffix(text, ": parse error"); isBool {
		text = before + ": it is neither true nor false"
	}
	return errors.New(text)
}

// spacedFlag returns "-c 1" if name is c1 and c has a flag -c with a value. Other commands accept
// -c1.
func spacedFlag(c *cli.Command, name string) string {
	if len(name) < 2 || name[1] < '0' || name[1] > '9' {
		return ""
	}
	for _, f := range c.Flags {
		if _, isSwitch := f.(*cli.BoolFlag); !isSwitch && slices.Contains(f.Names(), name[:1]) {
			return "-" + name[:1] + " " + name[1:]
		}
	}
	return ""
}

// dashed returns the name of a flag as a user types it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + strings.TrimPrefix(name, "-")
}

// nameVariables gives each flag of a command its environment variable, such as RDDP_SERVE_LISTEN
// for --listen of serve.
func nameVariables(c *cli.Command) {
	for _, f := range c.Flags {
		name := strings.ToUpper(strings.ReplaceAll("rddp_"+c.Name+"_"+f.Names()[0], "-", "_"))
		switch f := f.(type) {
		case *cli.BoolFlag:
			if !f.Hidden { // hidden flags are for processes that the command starts itself
				f.Sources = cli.EnvVars(name)
			}
		case *cli.StringFlag:
			f.Sources = cli.EnvVars(name)
		case *cli.StringSliceFlag:
			f.Sources = cli.EnvVars(name)
		case *cli.IntFlag:
			f.Sources = cli.EnvVars(name)
		case *cli.DurationFlag:
			f.Sources = cli.EnvVars(name)
		case *cli.TextFlag:
			f.Sources = cli.EnvVars(name)
		default:
			panic(fmt.Sprintf("BUG: %s has a kind of flag that has no variable", name))
		}
	}
}
