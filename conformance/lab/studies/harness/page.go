package harness

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rddp/rddp/conformance/lab/report"
)

// Options are the common options of all studies.
type Options struct {
	Revision string // of rddp
	Document string // whose generated part the study writes; "" means that it prints the tables
	Rounds   int
	More     bool // also count the rounds in the document's raw results
	Seed     uint64
	Time     time.Duration // of each trial
	Pin      bool          // each side of a trial has its own CPU
	log      io.Writer

	// The measurement, for Head.
	day      string // of the first round
	measured string // the conditions
}

// Parse parses the arguments of a study. define adds its own options. The error is flag.ErrHelp if
// the arguments only ask for help.
func Parse(name string, args []string, log io.Writer, define func(*flag.FlagSet)) (Options, error) {
	o := Options{log: log}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&o.Revision, "revision", "an unknown revision", "the revision of rddp, for the record")
	f.StringVar(&o.Document, "document", "", "put the figures between the markers of this `file`, and plots and raw results next to it (default: print the tables)")
	f.IntVar(&o.Rounds, "rounds", 2, "number of rounds; a figure is the median of them, or the lower one of two")
	f.BoolVar(&o.More, "more", false, "add the rounds to the raw results of the same revision next to the document; -rounds 0 draws them again")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the first round")
	f.DurationVar(&o.Time, "time", 400*time.Millisecond, "time for which a trial is measured")
	define(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	switch {
	case o.More && o.Document == "":
		return o, errors.New("-more needs -document")
	case o.Rounds < 0 || o.Rounds == 0 && !o.More || o.Time <= 0:
		return o, fmt.Errorf("-rounds %d, -time %v: too small", o.Rounds, o.Time)
	}
	cannot := CanPin()
	if o.Pin = cannot == nil; !o.Pin {
		fmt.Fprintln(log, "processes share all CPUs:", cannot)
	}
	return o, nil
}

// Page returns the document that the study with this name writes.
func (o *Options) Page(name string) report.Document {
	return report.Document{File: o.Document, Make: "study-" + name}
}

// conditions describes at which revision, where and how a study is measured.
func (o *Options) conditions() string {
	where := fmt.Sprintf("The two sides share %d CPUs", runtime.NumCPU())
	if o.Pin {
		where = "Each side has one CPU"
	}
	control := strings.TrimSpace(report.ReadText("/proc/sys/net/ipv4/tcp_congestion_control"))
	return fmt.Sprintf("%s, %s; TCP over 127.0.0.1, congestion control %s. %s. %v for each trial", o.Revision, report.Host(), control, where, o.Time)
}

// Head returns the first sentences of a generated part: when, where and how it was measured.
func (o *Options) Head() string {
	return fmt.Sprintf("Measured on %s at %s; %d rounds: the median, or the lower one of two (lowest–highest). ", o.day, o.measured, o.Rounds)
}

// Publish writes the generated part, and plots by the names of their files, into the document and
// next to it. Without a document it prints the generated part to out.
func (o *Options) Publish(name, text string, plots map[string]string, out io.Writer) error {
	if o.Document == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	var pictures strings.Builder
	for _, file := range slices.Sorted(maps.Keys(plots)) {
		fmt.Fprintf(&pictures, "![%s](%s)\n\n", strings.TrimSuffix(file, filepath.Ext(file)), file)
	}
	return o.Page(name).Write(pictures.String()+text+fmt.Sprintf("\nRaw results: [%s.json](%s.json).\n", name, name), plots)
}

// Spread returns the lowest value, the median (the lower one of two) and the highest, or zeros if
// there are no values.
func Spread(values []float64) (low, median, high float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	all := slices.Sorted(slices.Values(values))
	return all[0], all[(len(all)-1)/2], all[len(all)-1]
}
