package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
)

// A message requests an operation on a word. It has 1 byte with the operation and 3 words: the
// number of the word and two operands. The answer is the word's previous value, or the whole state.
const (
	opState   = 's'
	opSwap    = 'c' // compare with the first operand, and swap for the second
	opAdd     = 'a'
	messageLn = 1 + 3*wordLen
)

var errMessage = errors.New("no such operation or word")

// listen listens for load balancers. Those with extended sockets may access the state directly.
func listen(f *os.File, extended bool, serve func(net.Conn) error) (net.Addr, error) {
	var cfg *extsock.Config
	greet := func(net.Conn) error { return nil }
	if extended {
		cfg = &extsock.Config{Startup: extsock.StartupRequire, Domain: new(ddp.Domain)}
		var err error
		greet, err = harness.Grant(cfg.Domain, f, words*wordLen, ddp.RemoteRead|ddp.RemoteAtomic)
		if err != nil {
			return nil, err
		}
	}
	l, err := harness.Listen(cfg)
	if err != nil {
		return nil, err
	}
	go harness.Accept(l, func(c net.Conn) error {
		if err := greet(c); err != nil {
			return err
		}
		return serve(c)
	})
	return l.Addr(), nil
}

// serveProgram is the process of the program. It answers messages, and computes meanwhile. The file
// stays open until the process ends, because goroutines use it.
func serveProgram(_ context.Context, t trial) error {
	f, err := os.OpenFile(t.Shared, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	p := &program{f: f, busy: t.Busy}
	plain, err := listen(f, false, p.serve)
	if err != nil {
		return err
	}
	extended, err := listen(f, true, p.serve)
	if err != nil {
		return err
	}
	return harness.Serve(plain, extended)
}

// A program answers messages.
type program struct {
	f      *os.File
	busy   int       // goroutines that compute
	loaded sync.Once // starts them
	mu     sync.Mutex
}

// serve answers a load balancer. The first message makes the program busy, so that connections open
// fast.
func (p *program) serve(c net.Conn) error {
	var m [messageLn]byte
	for {
		if _, err := io.ReadFull(c, m[:]); err != nil {
			return err
		}
		p.loaded.Do(func() {
			for range p.busy {
				go compute()
			}
		})
		answer, err := p.answer(m[0], m[1:])
		if err != nil {
			return err
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

func (p *program) answer(op byte, m []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]byte, words*wordLen)
	if _, err := p.f.ReadAt(all, 0); err != nil || op == opState {
		return all, err
	}
	word, first, second := binary.NativeEndian.Uint64(m), binary.NativeEndian.Uint64(m[wordLen:]), binary.NativeEndian.Uint64(m[2*wordLen:])
	if word >= words {
		return nil, errMessage
	}
	before := all[word*wordLen:][:wordLen]
	old := binary.NativeEndian.Uint64(before)
	switch {
	case op == opAdd:
		second = old + first
	case op != opSwap:
		return nil, errMessage
	case old != first:
		return before, nil
	}
	_, err := p.f.WriteAt(binary.NativeEndian.AppendUint64(nil, second), int64(word*wordLen))
	return before, err
}

// compute never waits. It ends with the process.
func compute() {
	for v := uint64(1); v != 0; v = v*6364136223846793005 + 1 {
	}
}

// serveNodes is the process of the nodes. It writes the loads, and serves RDMA access to the state
// as a second process. The file stays open until the process ends.
func serveNodes(ctx context.Context, t trial) error {
	f, err := os.OpenFile(t.Shared, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	beside, err := listen(f, true, func(c net.Conn) error { _, err := io.Copy(io.Discard, c); return err })
	if err != nil {
		return err
	}
	go func() {
		if err := publish(ctx, f, t.Begin); err != nil {
			harness.Fail(err)
		}
	}()
	return harness.Serve(beside)
}

// publish writes the load of each server every millisecond.
func publish(ctx context.Context, f *os.File, begin time.Time) error {
	m, b := newModel(begin), make([]byte, words*wordLen)
	for tick := time.Tick(time.Millisecond); ctx.Err() == nil; <-tick {
		if _, err := f.ReadAt(b, 0); err != nil {
			return err
		}
		var s state
		s.parse(b)
		now := time.Now()
		for i := range nodes {
			if s[sitesAt+i] != m.site[i] {
				m.move(i, s[sitesAt+i], now)
			}
		}
		m.run(now)
		var out []byte
		for i := range nodes {
			out = binary.NativeEndian.AppendUint64(out, m.load(i))
		}
		if _, err := f.WriteAt(out, loads*wordLen); err != nil {
			return err
		}
	}
	return nil
}
