package main

import (
	"context"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rddp/rddp/cmd/rddp/internal/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "show an RDMA device, a Read from a stopped program, and a file that crosses by RDMA",
		Description: "On Linux, a program under rddp run has an RDMA device, and lends a counter. Its memory is read over RDMA\n" +
			"while it runs and while it is stopped (SIGSTOP), when it answers nothing over TCP. Then a file moves\n" +
			"between two processes, next to plain TCP.\n\n" +
			"The capture is of a second, short run of that. An interrupt keeps a capture of an earlier run.\n\n" +
			"   rddp demo --size 1g --rounds 1\n" +
			"   rddp demo --file big.iso --capture /tmp/demo.pcapng",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", TakesFile: true, Usage: "move this `FILE` (default: a new file of random bytes)"},
			sizeFlag("size", 256<<20, "`SIZE` of the new file"),
			&cli.IntFlag{Name: "rounds", Usage: "how often to move the file", Value: 3},
			&cli.StringFlag{Name: "capture", TakesFile: true, Usage: "write the capture to this `FILE`", Value: "rddp-demo.pcapng"},
			&cli.BoolFlag{Name: "server", Hidden: true},
			&cli.BoolFlag{Name: "lender", Hidden: true},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usage("unexpected argument %q", c.Args().First())
			}
			switch {
			case size(c, "size") < 1:
				return usage("--size %d: at least 1", size(c, "size"))
			case c.Int("rounds") < 1:
				return usage("--rounds %d: at least 1", c.Int("rounds"))
			}
			if c.Bool("server") {
				return demo.Serve(os.Stdin, c.Root().Writer)
			}
			if c.Bool("lender") {
				return demo.Lend(os.Stdin, c.Root().Writer)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o := demo.Options{
				File: c.String("file"), Size: size(c, "size"), Rounds: c.Int("rounds"), Capture: c.String("capture"),
				Server:     []string{self, "demo", "--server"},
				Lender:     []string{self, "run", "--iwarp", "--address", "127.0.0.1", self, "demo", "--lender"},
				DeviceInfo: []string{self, "run", "ibv_devinfo"},
			}
			if term.IsTerminal(int(os.Stderr.Fd())) {
				o.Progress = showProgress()
			}
			return demo.Run(ctx, o, c.Root().Writer)
		},
	}
}

// showProgress returns a function that draws a bar of the bytes moved.
func showProgress() func(n, total int64) {
	var bar *progressbar.ProgressBar
	return func(n, total int64) {
		if bar == nil {
			bar = progressbar.DefaultBytes(total, "RDMA")
		}
		_ = bar.Add64(n) // an error does not affect the demo
	}
}
