package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

// A proxy's request to the back end has 1 byte with the operation, and 4 with the number of the
// page. The answer is the version, in 8 bytes, and for opGet the page.
const (
	opGet    = 'g'
	opUpdate = 'u'
	opPoll   = 'p'
	askLen   = 5
)

var errAsk = errors.New("no such operation or page")

// A backend makes pages and counts their versions.
type backend struct {
	versions counters
	work     int
	busy     int       // goroutines that compute
	loaded   sync.Once // starts them
}

// serveBackend is the process of a back end. It serves at two addresses: TCP and extended sockets.
func serveBackend(_ context.Context, t trial) error {
	plain, err := harness.Listen(nil)
	if err != nil {
		return err
	}
	lend := lendHere
	if t.Way == wayDevice {
		lend = lendOnDevice
	}
	versions, extended, greet, err := lend(t.Pages)
	if err != nil {
		return err
	}
	b := &backend{versions: versions, work: t.Work, busy: t.Busy}
	go harness.Accept(plain, b.serve)
	go harness.Accept(extended, b.greeted(greet))
	return harness.Serve(plain.Addr(), extended.Addr())
}

// load starts the goroutines that compute.
func (b *backend) load() {
	for range b.busy {
		go compute()
	}
}

// compute never waits. It ends with the process.
func compute() {
	p := make([]byte, pageLen)
	for v := uint64(0); ; v++ {
		makePage(p, 0, v, 1)
	}
}

// lendHere makes n counters, and listens for connections that may read them. This process serves
// the Reads. greet sends them the Handle.
func lendHere(n int) (versions counters, l net.Listener, greet func(net.Conn) error, err error) {
	versions = make(counters, n)
	domain := new(ddp.Domain)
	greet, err = harness.Grant(domain, versions, n*counterLen, ddp.RemoteRead)
	if err != nil {
		return nil, nil, nil, err
	}
	l, err = harness.Listen(&extsock.Config{Startup: extsock.StartupRequire, Domain: domain})
	return versions, l, greet, err
}

// lendOnDevice is lendHere on the RDMA device of the system, which serves the Reads.
func lendOnDevice(n int) (versions counters, l net.Listener, greet func(net.Conn) error, err error) {
	device := new(verbs.Backend)
	m, err := extsock.NewMemory(device, n*counterLen, ddp.RemoteRead)
	if err != nil {
		return nil, nil, nil, err
	}
	versions = unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(m.Bytes()))), n)
	greet = func(c net.Conn) error {
		x := c.(*extsock.Conn)
		if why := x.ConnectionState().NoDevice; why != nil {
			return why
		}
		r, err := m.Share(x)
		if err == nil {
			_, err = c.Write(r.Handle().AppendTo(nil))
		}
		return err
	}
	l, err = harness.Listen(&extsock.Config{Startup: extsock.StartupRequire, Backend: device})
	return versions, l, greet, err
}

// greeted returns serve for connections that are greeted first.
func (b *backend) greeted(greet func(net.Conn) error) func(net.Conn) error {
	return func(c net.Conn) error {
		if err := greet(c); err != nil {
			return err
		}
		return b.serve(c)
	}
}

// serve answers a proxy until it closes the connection. The first question makes the back end busy,
// so that connections open fast.
func (b *backend) serve(c net.Conn) error {
	var ask [askLen]byte
	answer := make([]byte, counterLen+pageLen)
	for {
		if _, err := io.ReadFull(c, ask[:]); err != nil {
			return err
		}
		b.loaded.Do(b.load)
		page := binary.BigEndian.Uint32(ask[1:])
		if int64(page) >= int64(len(b.versions)) {
			return errAsk
		}
		out := answer[:counterLen]
		var version uint64
		switch ask[0] {
		case opPoll:
			version = b.versions[page].Load()
		case opUpdate:
			version = b.versions[page].Add(1) // before the answer
		case opGet:
			version, out = b.versions[page].Load(), answer
			makePage(out[counterLen:], page, version, b.work)
		default:
			return errAsk
		}
		binary.BigEndian.PutUint64(out, version)
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
}
