//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// occupations are the activities of the listening end while the other end uses its memory. Each is
// added to the previous ones. The last one stops the process for good.
var occupations = []struct {
	name string
	do   func()
}{
	{"idle", func() {}},
	{"busy", func() {
		for range 4 {
			go func() {
				for {
					turns.Add(1)
				}
			}()
		}
	}},
	{"busy, collecting garbage", func() {
		go func() {
			for {
				runtime.GC()
			}
		}()
	}},
	{"stopped", func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }},
}

var turns atomic.Int64 // iterations of the loop that keeps the program busy

const (
	lentLen = 64              // bytes of memory that are read
	patient = 2 * time.Second // an operation that takes longer counts as not served
)

// latency measures N RDMA Reads of 64 bytes, one after the other, and as many RDMA Writes, each
// followed by a Read, in each occupation of the end that owns the memory. The dialing end prints a
// line for each occupation.
func latency(p *peer) (string, error) {
	m, err := extsock.NewMemory(p.cfg.Backend, lentLen, ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return "", err
	}
	c := p.first
	if p.dials {
		return latencyOf(c, p.n)
	}
	r, err := m.Share(c)
	if err == nil {
		_, err = c.Write(r.Handle().AppendTo(nil))
	}
	if err != nil {
		return "", err
	}
	for _, o := range occupations {
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return "", err
		}
		if _, err := c.Write([]byte{1}); err != nil {
			return "", err
		}
		o.do()
	}
	select {} // this process is stopped, and then killed
}

func latencyOf(c *extsock.Conn, n int) (string, error) {
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return "", err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return "", err
	}
	for _, o := range occupations {
		if _, err := c.Write([]byte{1}); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return "", err
		}
		time.Sleep(100 * time.Millisecond) // let the occupation take effect
		m, p := c.Remote(h), make([]byte, lentLen)
		read := func(ctx context.Context) error {
			_, err := m.Read(ctx, p, 0)
			return err
		}
		write := func(ctx context.Context) error { // when the Read returns, the bytes are there
			_, err := m.Write(ctx, p, 0)
			return errors.Join(err, read(ctx))
		}
		reads := measure(read, n)
		fmt.Printf("%s | %s | %s\n", o.name, reads, measure(write, n))
	}
	return "measured", nil
}

// measure returns the p50 and p99 of n operations in microseconds.
func measure(f func(context.Context) error, n int) string {
	times := make([]time.Duration, n)
	for i := range times {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		began := time.Now()
		err := f(ctx)
		times[i] = time.Since(began)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return "never"
		}
		if err != nil {
			return err.Error()
		}
	}
	slices.Sort(times)
	return fmt.Sprintf("%d / %d", times[n/2].Microseconds(), times[n*99/100].Microseconds())
}
