// Command badnetwork tests a program on a network that loses, reorders and delays packets. Both
// ends and the network are in one process, so it needs no privilege, no virtual machine and no
// second host. To test a program of your own, replace receive and send.
//
//	go run -C toe/usertcp ./examples/badnetwork
//	go run -C toe/usertcp ./examples/badnetwork -loss 0.05 -seed 7
//
// Three pieces are stacked: badlink is the wire, usertcp the TCP of each end, and extsock uses that
// TCP as its Config.Backend. The seed determines what happens to the k-th packet.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

func main() {
	log.SetFlags(0)
	var bad badlink.Faults
	flag.Float64Var(&bad.Loss, "loss", 0.02, "`probability` that a packet is lost")
	flag.Float64Var(&bad.Reorder, "reorder", 0.1, "`probability` that later packets overtake a packet")
	flag.DurationVar(&bad.Delay, "delay", time.Millisecond, "how long a packet travels")
	seed := flag.Uint64("seed", 1, "`seed` of all random decisions")
	size := flag.Int("size", 1<<20, "`bytes` to send")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, badlink.Config{Seed: *seed, AB: bad, BA: bad}, *size); err != nil {
		log.Fatal(err)
	}
}

// run sends size bytes over the network and checks that they arrive.
func run(ctx context.Context, out io.Writer, network badlink.Config, size int) error {
	x, y, err := badlink.Pipe(network)
	if err != nil {
		return err
	}
	near, err := host(x, "10.0.0.1/24")
	if err != nil {
		return err
	}
	defer near.Close()
	far, err := host(y, "10.0.0.2/24")
	if err != nil {
		return err
	}
	defer far.Close()

	l, err := extsock.Listen("tcp", "10.0.0.2:7174", &extsock.Config{Backend: far, Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	defer l.Close()
	type result struct {
		sum   [sha256.Size]byte
		stats stats.Counts
		err   error
	}
	received := make(chan result, 1)
	go func() {
		var r result
		r.sum, r.stats, r.err = receive(l)
		received <- r
	}()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8)
	}
	dialer := &extsock.Dialer{Config: &extsock.Config{Backend: near}}
	if err := send(ctx, dialer, l.Addr().String(), data); err != nil {
		return err
	}
	r := <-received
	if r.err != nil {
		return r.err
	}
	if r.sum != sha256.Sum256(data) {
		return errors.New("the data that arrived differ from the data that were sent")
	}
	wire := x.Stats()
	fmt.Fprintf(out, "%d bytes arrived unchanged; of %d packets %d were lost and %d overtaken\n", size, wire.In, wire.Lost, wire.Reordered)
	fmt.Fprintf(out, "%d FPDUs were placed while bytes before them were missing\n", r.stats.EarlyFPDUs)
	return nil
}

// host makes a TCP with its own address on one end of the wire.
func host(wire usertcp.Link, address string) (*usertcp.Stack, error) {
	return usertcp.New(wire, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
}

// receive accepts a connection and reads everything.
func receive(l *extsock.Listener) (sum [sha256.Size]byte, stats stats.Counts, err error) {
	c, err := l.AcceptDDP()
	if err != nil {
		return sum, stats, err
	}
	defer c.Close()
	h := sha256.New()
	if _, err := io.Copy(h, c); err != nil {
		return sum, stats, err
	}
	return [sha256.Size]byte(h.Sum(nil)), c.Stats(), nil
}

// send connects, writes data and closes. The receiver gets io.EOF after the data.
func send(ctx context.Context, dialer *extsock.Dialer, address string, data []byte) error {
	c, err := dialer.DialDDP(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(data); err != nil {
		return err
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c) // until the receiver has everything and closes
	return err
}
