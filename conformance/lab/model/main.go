package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	var o Options
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("link", "`list` of links, such as 100,400, of "+strings.Join(Links(), ", ")+" (default: all but the first)", func(text string) error {
		o.Links = strings.Split(text, ",")
		return nil
	})
	flags.Func("size", "`list` of sizes of one message in bytes (default: 1 to 1048576)", func(text string) error {
		for _, field := range strings.Split(text, ",") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			o.Sizes = append(o.Sizes, n)
		}
		return nil
	})
	flags.BoolVar(&o.Separate, "separate", false, "the engine computes checksums, not the DMA")
	lines := flags.Bool("json", false, "one JSON object per line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		return err
	}
	if *lines {
		return r.WriteJSON(stdout)
	}
	return r.WriteText(stdout)
}
