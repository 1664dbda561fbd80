package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

const busyPeerEnv = "RDDP_BUSY_PEER"

var computed int

var busyConfig = extsock.Config{Startup: extsock.StartupRequire}

// TestOperationsOfABusyProgram: a program was idle, gets a message, answers it, and computes. The
// peer's operation does not wait until the program has computed. The program is a process of its
// own, because any other goroutine would help: the runtime of an idle process rests too, and being
// woken for the message may not be enough for the operation that follows.
func TestOperationsOfABusyProgram(t *testing.T) {
	t.Run("a processor is free", func(t *testing.T) {
		took := operateOnBusyProgram(t, "GOMAXPROCS=2", 0, 21)
		slices.Sort(took)
		t.Log(took)
		if median := took[len(took)/2]; median > 5*time.Millisecond {
			t.Errorf("the median is %v; the runtime alone would look for operations every 10 ms", median)
		}
	})
	t.Run("no processor is free", func(t *testing.T) {
		t.Log(operateOnBusyProgram(t, "GOMAXPROCS=1", 0, 10)) // the runtime takes the processor from the program every 10 ms
	})
	t.Run("after many messages with pauses", func(t *testing.T) { // then a thread of the process waits for watches
		for _, processors := range []string{"GOMAXPROCS=2", "GOMAXPROCS=1"} {
			var took []time.Duration
			for range 9 {
				took = append(took, operateOnBusyProgram(t, processors, 300, 1)...)
			}
			slices.Sort(took)
			t.Log(processors, took)
			if median := took[len(took)/2]; median > 5*time.Millisecond && processors == "GOMAXPROCS=2" {
				t.Errorf("the median is %v; the runtime alone would look for operations every 10 ms", median)
			}
		}
	})
}

// operateOnBusyProgram exchanges some messages with pauses, and then returns how long each of
// rounds operations took. before is the number of messages.
func operateOnBusyProgram(t *testing.T, processors string, before, rounds int) (took []time.Duration) {
	t.Helper()
	ctx := timeLimit(t)
	peer := startSelf(t, ctx, busyPeerEnv+"=1", processors)
	c, err := extsock.Dial("tcp", peer.line(t), &busyConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h, _, err := rdmap.ParseHandle(readN(t, c, 16))
	if err != nil {
		t.Fatal(err)
	}
	remote := c.Remote(h)
	operate := func() time.Duration {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := remote.FetchAdd(ctx, 0, 1); err != nil {
			t.Fatalf("an operation of a program's peer: %v", err)
		}
		return time.Since(begin)
	}
	for range before {
		if _, err := c.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		readN(t, c, 1)
		time.Sleep(500 * time.Microsecond)
	}
	for i := range rounds {
		for computes := range byte(2) {
			if before > 0 && computes == 0 {
				continue
			}
			if _, err := c.Write([]byte{computes}); err != nil {
				t.Fatal(err)
			}
			readN(t, c, 1)
			time.Sleep(2 * time.Millisecond)
			d := operate()
			if computes == 1 {
				took = append(took, d)
			}
			// The peer rests by turns longer and shorter than its runtime waits before it rests
			// too.
			time.Sleep([]time.Duration{15 * time.Millisecond, time.Millisecond}[i%2])
		}
	}
	return took
}

// readN returns the next n bytes.
func readN(t *testing.T, c *extsock.Conn, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(c, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// runBusyPeer is the program.
func runBusyPeer() error {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &busyConfig)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	c, err := l.AcceptDDP()
	if err != nil {
		return err
	}
	r, err := c.Register(make([]byte, 8), ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	p := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		before := c.Stats().Received.AtomicRequests
		if _, err := c.Write(p); err != nil {
			return err
		}
		for p[0] == 1 && c.Stats().Received.AtomicRequests == before { // computes, and calls nothing
			for range 1_000_000 {
				computed = computed*31 + 7
			}
		}
	}
}
