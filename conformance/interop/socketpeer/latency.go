//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// occupations are what the end that listens does while the other one uses its memory, each besides those
// before. The last one stops it for good.
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

var turns atomic.Int64 // of what keeps the program busy

const (
	lentLen = 64              // bytes of memory that are read
	patient = 2 * time.Second // an operation that takes longer is not served
)

// latency measures N RDMA Reads of 64 bytes, one after the other, in each occupation of the end whose
// memory it is.
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
	select {} // it is stopped, and then killed
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
	var said []string
	for _, o := range occupations {
		if _, err := c.Write([]byte{1}); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return "", err
		}
		time.Sleep(100 * time.Millisecond) // it is what it is to be
		said = append(said, o.name+": "+measure(c.Remote(h), n))
	}
	return strings.Join(said, "; "), nil
}

func measure(m *extsock.RemoteMemory, n int) string {
	times, p := make([]time.Duration, n), make([]byte, lentLen)
	for i := range times {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		began := time.Now()
		_, err := m.Read(ctx, p, 0)
		times[i] = time.Since(began)
		cancel()
		if err != nil {
			return fmt.Sprintf("not served (%v)", err)
		}
	}
	slices.Sort(times)
	return fmt.Sprintf("p50 %v, p99 %v", times[n/2], times[n*99/100])
}
