package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// extreme returns a Config of values at the ends of their types, or at the ends that Config states,
// and of common ones.
func extreme(r *rand.Rand) *extsock.Config {
	long := func() time.Duration {
		return []time.Duration{0, 0, -1, 1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, 3 * time.Second}[r.IntN(9)]
	}
	wait := func() time.Duration {
		return []time.Duration{0, -1, math.MinInt64, math.MaxInt64, time.Minute}[r.IntN(5)]
	}
	size := func(more ...int) int {
		all := append([]int{0, 0, 0, -1, 1, math.MinInt, math.MinInt32}, more...)
		return all[r.IntN(len(all))]
	}
	some := func() bool { return r.IntN(5) == 0 }
	c := &extsock.Config{
		Startup:       []extsock.Startup{extsock.StartupPrefer, extsock.StartupRequire}[r.IntN(2)],
		PreferTimeout: wait(), SniffTimeout: wait(), HandshakeTimeout: wait(), CloseTimeout: wait(), BadSTagDelay: long(), PollTime: long(),
		WriteTimeout: wait(), IdleTimeout: wait(),
		Revision: []int{0, 0, 0, 1, 2}[r.IntN(5)], NoEnhanced: some(), NoCRC: some(), Markers: some(), PeerToPeer: some(), RTR: mpa.RTR(r.IntN(8)),
		IRD: size(2, 16382), ORD: size(2, 16382), MaxFPDU: []int{0, 0, 136, 137, 64776}[r.IntN(5)],
		NoCapabilities: some(), Messages: some(), Crossover: size(math.MaxInt, 1000), NoEarlyPlacement: some(),
		SendDepth: size(2, math.MaxInt), RecvDepth: size(2, 70_000, math.MaxInt), RecvSize: size(512, 1<<20),
		MaxHalfOpen: []int{0, -1, 1, math.MinInt, math.MaxInt}[r.IntN(5)], RetryRevision1: some(), Extensions: some(),
	}
	if c.NoEnhanced || c.Revision == 1 {
		c.PeerToPeer = false // an error of the Config
	}
	return c
}

// isKnown reports whether err is an error that a program can test for.
func isKnown(err error) bool {
	var op *net.OpError
	var rejected *mpa.RejectError
	var startup *mpa.Error
	var terminated *rdmap.TerminateError
	if !errors.As(err, &op) {
		return false
	}
	for _, target := range []error{extsock.ErrNotMPA, extsock.ErrNoReply, extsock.ErrLimit, syscall.EMSGSIZE, extsock.ErrMode, context.DeadlineExceeded, os.ErrDeadlineExceeded, io.ErrUnexpectedEOF} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &rejected) || errors.As(err, &startup) || errors.As(err, &terminated)
}

// TestExtremeConfigs: with any values in the Config of either end, Dial connects and the bytes come
// back, or Dial fails with an error that a program can test for. Nothing hangs.
func TestExtremeConfigs(t *testing.T) {
	connected := 0
	pairs := testmode.Rounds(150, 40)
	for seed := range pairs {
		bubble(t, func(t *testing.T) {
			t.Cleanup(settle)
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			mine, theirs := extreme(r), extreme(r)
			n := simtoe.New(simtoe.Config{})
			mine.Backend, theirs.Backend = n, n
			fail := func(format string, args ...any) {
				t.Helper()
				t.Errorf("seed %d: %s\n%+v\n%+v", seed, fmt.Sprintf(format, args...), *mine, *theirs)
			}
			l, err := extsock.Listen("sim", "sim:1", theirs)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						c.SetDeadline(time.Now().Add(time.Hour))
						b := make([]byte, 1<<20)
						for {
							k, err := c.Read(b)
							if err != nil {
								return
							}
							if _, err := c.Write(b[:k]); err != nil {
								return
							}
						}
					}()
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			d := extsock.Dialer{Config: mine}
			c, err := d.DialContext(ctx, "sim", "sim:1")
			if err != nil {
				if !isKnown(err) {
					fail("Dial = %v", err)
				}
				return
			}
			defer c.Close()
			connected++
			c.SetDeadline(time.Now().Add(time.Hour))
			for _, size := range []int{1, 600_000} {
				if s := c.(*extsock.Conn).ConnectionState(); s.DDPMode && !s.ByteStream {
					size = 1 // the longest message depends on RecvSize
				}
				data, got := pattern(size, 3), make([]byte, size)
				go c.Write(data)
				_, err := io.ReadFull(c, got)
				if theirs.Startup == extsock.StartupRequire && modeOf(c.(*extsock.Conn)) == "TCP" {
					if err == nil {
						fail("an echo in TCP mode")
					}
					return // this end has fallen back, and the other one closes such a connection
				}
				if err != nil {
					if !isKnown(err) || errors.Is(err, os.ErrDeadlineExceeded) {
						fail("an echo of %d bytes: %v", size, err)
					}
					return
				}
				if !bytes.Equal(got, data) {
					fail("an echo of %d bytes has changed", size)
				}
			}
			synctest.Wait()
		})
	}
	if connected < pairs/2 {
		t.Errorf("only %d of %d pairs have connected", connected, pairs)
	}
}
