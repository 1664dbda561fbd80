package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
)

// What a proxy asks of the back end: 1 byte that says what, and 4 with the number of the page. The
// answer is the version, in 8 bytes, and for opGet the page.
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
	b := &backend{versions: make(counters, t.Pages), work: t.Work, busy: t.Busy}
	if t.Shared != "" {
		var err error
		if b.versions, err = mapCounters(t.Shared, t.Pages); err != nil {
			return err
		}
	}
	plain, err := harness.Listen(nil)
	if err != nil {
		return err
	}
	extended, greet, err := listenExtended(b.versions)
	if err != nil {
		return err
	}
	go harness.Accept(plain, b.serve)
	go harness.Accept(extended, b.greeted(greet))
	return harness.Serve(plain.Addr(), extended.Addr())
}

// serveBeside is the process that serves Reads of a back end's counters outside its program.
func serveBeside(_ context.Context, t trial) error {
	versions, err := mapCounters(t.Shared, t.Pages)
	if err != nil {
		return err
	}
	extended, greet, err := listenExtended(versions)
	if err != nil {
		return err
	}
	go harness.Accept(extended, (&backend{versions: versions}).greeted(greet))
	return harness.Serve(extended.Addr())
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

// listenExtended listens for connections that may read counters. greet sends them the Handle.
func listenExtended(versions counters) (l net.Listener, greet func(net.Conn) error, err error) {
	domain := new(ddp.Domain)
	greet, err = harness.Grant(domain, versions, len(versions)*counterLen, ddp.RemoteRead)
	if err != nil {
		return nil, nil, err
	}
	l, err = harness.Listen(&extsock.Config{Startup: extsock.StartupRequire, Domain: domain})
	return l, greet, err
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

// serve answers a proxy until it closes the connection. The first question makes the back end busy, so
// that connections open fast.
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
