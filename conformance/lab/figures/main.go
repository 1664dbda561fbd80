package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rddp/rddp/conformance/lab/plot"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// A drawing is a figure, and the end of its file name.
type drawing struct {
	file   string
	figure *plot.Figure
}

// A source is an input that was read.
type source interface {
	drawings() []drawing
	page() *page
}

func run(args []string, stdin io.Reader, stderr io.Writer) error {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	html := flags.String("html", "", "write a document with figures and tables to this `file`")
	svg := flags.String("svg", "", "write each figure to a file whose name begins with this `prefix`")
	ratios := flags.String("ratios", "", "write one chart of all operations, next to plain TCP, to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 || *html == "" && *svg == "" && *ratios == "" {
		return fmt.Errorf("usage: figures [-html FILE] [-svg PREFIX] [-ratios FILE] [INPUT]")
	}
	input := stdin
	if flags.NArg() == 1 {
		f, err := os.Open(flags.Arg(0))
		if err != nil {
			return err
		}
		defer f.Close()
		input = f
	}
	s, err := read(input)
	if err != nil {
		return err
	}
	if *html != "" {
		var text bytes.Buffer
		if err := s.page().write(&text, s.drawings()); err != nil {
			return err
		}
		if err := os.WriteFile(*html, text.Bytes(), 0o666); err != nil {
			return err
		}
	}
	if *svg != "" {
		for _, d := range s.drawings() {
			if err := os.WriteFile(*svg+"-"+d.file+".svg", []byte(d.figure.SVG()), 0o666); err != nil {
				return err
			}
		}
	}
	if *ratios != "" {
		m, ok := s.(*measured)
		if !ok {
			return fmt.Errorf("-ratios draws the output of rddp perf --json")
		}
		return os.WriteFile(*ratios, []byte(m.ratios().SVG()), 0o666)
	}
	return nil
}
