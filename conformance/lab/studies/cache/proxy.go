package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/extsock"
)

// A proxy has a cache of pages that its clients share.
type proxy struct {
	mu    sync.RWMutex
	pages []cached // +checklocks:mu
}

// A cached page never changes; a newer version replaces it.
type cached struct {
	version uint64
	page    []byte
}

// newProxy returns a proxy whose cache has these pages.
func newProxy(pages []cached) *proxy { return &proxy{pages: slices.Clone(pages)} }

// firstPages returns all pages as they are before the first update.
func firstPages(n, work int) []cached {
	pages := make([]cached, n)
	for i := range pages {
		pages[i].page = make([]byte, pageLen)
		makePage(pages[i].page, uint32(i), 0, work)
	}
	return pages
}

func (p *proxy) get(page uint32) cached {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.pages[page]
}

// put keeps a page, unless the cache has a newer version.
func (p *proxy) put(page uint32, c cached) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := &p.pages[page]; old.version < c.version {
		*old = c
	}
}

// A ledger has the highest version of each page whose update has been acknowledged.
type ledger []atomic.Uint64

func (l ledger) acknowledge(page uint32, version uint64) {
	for {
		old := l[page].Load()
		if old >= version || l[page].CompareAndSwap(old, version) {
			return
		}
	}
}

// A validator returns the version that a page has in the back end at some time during the call.
type validator func(page uint32) (uint64, error)

// A link is a client's connections to the back end.
type link struct {
	plain    net.Conn
	check    *extsock.Conn // nil if plain is enough
	validate validator
	answer   []byte
}

// dial connects a client for one way of validation.
func dial(way string, a addresses) (*link, error) {
	plain, err := net.Dial("tcp", a.Plain)
	if err != nil {
		return nil, err
	}
	l := &link{plain: plain, answer: make([]byte, counterLen+pageLen)}
	switch way {
	case wayTCP:
		l.validate = func(page uint32) (uint64, error) { return l.ask(l.plain, opPoll, page, counterLen) }
	case wayStream, wayRead, wayDevice:
		err = l.dialExtended(way, a.Extended)
	}
	if err != nil {
		plain.Close()
		return nil, err
	}
	return l, nil
}

// dialExtended adds an extended socket, over which the client validates.
func (l *link) dialExtended(way, address string) error {
	c, err := extsock.Dial("tcp", address, &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	handle, err := harness.Granted(c)
	if err != nil {
		c.Close()
		return err
	}
	l.check = c
	if way == wayStream {
		l.validate = func(page uint32) (uint64, error) { return l.ask(c, opPoll, page, counterLen) }
		return nil
	}
	memory, word := c.Remote(handle), make([]byte, counterLen)
	l.validate = func(page uint32) (uint64, error) {
		_, err := memory.ReadAt(word, int64(page)*counterLen)
		return binary.NativeEndian.Uint64(word), err
	}
	return nil
}

// close closes the connections properly, so that the back end does not see a failure.
func (l *link) close() error {
	err := l.plain.Close()
	if l.check != nil {
		err = errors.Join(err, l.check.Close(), l.check.Wait(context.Background()))
	}
	return err
}

// ask sends a request to the back end, and returns the version in the answer, which stays in
// l.answer.
func (l *link) ask(c net.Conn, op byte, page uint32, answer int) (uint64, error) {
	var ask [askLen]byte
	ask[0] = op
	binary.BigEndian.PutUint32(ask[1:], page)
	if _, err := c.Write(ask[:]); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, l.answer[:answer]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(l.answer), nil
}

// fetch gets a page from the back end.
func (l *link) fetch(page uint32) (cached, error) {
	version, err := l.ask(l.plain, opGet, page, counterLen+pageLen)
	if err != nil {
		return cached{}, err
	}
	c := cached{version, append([]byte(nil), l.answer[counterLen:]...)}
	return c, checkWhole(c.page)
}

// serve returns the response to a request, and whether it came from the cache.
func (p *proxy) serve(way string, l *link, page uint32) (c cached, hit bool, err error) {
	if way == wayNone {
		c, err = l.fetch(page)
		return c, false, err
	}
	c = p.get(page)
	if way == wayUnchecked {
		return c, true, nil
	}
	version, err := l.validate(page)
	if err != nil || version == c.version {
		return c, true, err
	}
	if c, err = l.fetch(page); err == nil {
		p.put(page, c)
	}
	return c, false, err
}
