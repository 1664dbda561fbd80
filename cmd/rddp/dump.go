package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/internal/dissect"
)

func dumpCommand() *cli.Command {
	return &cli.Command{
		Name:      "dump",
		Usage:     "decode the iWARP connections in a capture",
		ArgsUsage: "FILE",
		Description: "Prints one line for each MPA frame and FPDU in FILE, a pcap or pcapng file. - means standard input.\n" +
			"An error in one connection is a line too. If there are packets in which dump can't read TCP, the last\n" +
			"line counts them by reason. If FILE can't be read to its end, the command fails.\n\n" +
			"   rddp dump trace.pcap\n" +
			"   tcpdump -i eth0 -w - port 7174 | rddp dump --json -",
		Flags: []cli.Flag{
			jsonFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.NArg() != 1 {
				return usage("give one FILE, or - for standard input")
			}
			return interruptible(ctx, func() error { return dump(c, c.Args().First()) })
		},
	}
}

// dump prints the records of the capture in a file. The capture may still be growing: dump writes
// all records so far before it waits for more.
func dump(c *cli.Command, name string) error {
	in, err := openFile(c, name)
	if err != nil {
		return err
	}
	defer in.Close()
	out := bufio.NewWriter(c.Root().Writer)
	emit := func(r dissect.Record) error {
		_, err := fmt.Fprintln(out, r)
		return err
	}
	if c.Bool("json") {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		emit = func(r dissect.Record) error { return encoder.Encode(r) }
	}
	err = dissect.Read(&promptReader{in, out}, emit)
	if failed := out.Flush(); failed != nil { // out also returns the error of a promptReader
		err = failed
	}
	return err
}

// A promptReader flushes out before each Read.
type promptReader struct {
	in  io.Reader
	out *bufio.Writer
}

func (r *promptReader) Read(p []byte) (int, error) {
	if err := r.out.Flush(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// openFile opens a file; "-" means standard input.
func openFile(c *cli.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.Root().Reader), nil
	}
	return os.Open(name)
}
