//go:build unix

// Command socketpeer is one end of a session between two extended sockets: over a device by
// Config.Backend, or in its own process. Both ends run the same session.
//
//	socketpeer DEVICE listen ADDRESS SESSION N
//	socketpeer DEVICE dial ADDRESS SESSION N
//
// DEVICE is a name such as siw0, "any" for the first one, or "process". sessions.go explains
// SESSION and N.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/rddp/rddp/examples/kvcache"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/verbs"
)

// limit ends a session that hangs, and shows where.
const limit = 30 * time.Minute

// nudgeAfter is the delay after which a dialing end in process sends the other end an RDMA Write of
// length 0. siw may leave octets that arrive right after its answer unread until more arrive.
const nudgeAfter = 100 * time.Millisecond

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: socketpeer DEVICE listen|dial ADDRESS SESSION N")
	}
	time.AfterFunc(limit, func() {
		debug.SetTraceback("all")
		panic("the session does not end")
	})
	if err := run(os.Args[1], os.Args[2] == "dial", os.Args[3], os.Args[4], os.Args[5]); err != nil {
		log.Fatal(err)
	}
}

// A peer is this end.
type peer struct {
	cfg    *extsock.Config
	device bool // connections must run on a device
	dials  bool
	to     string            // the address
	l      *extsock.Listener // nil if the peer dials
	store  *kvcache.Server   // nil if the peer dials, or the session does not use it
	first  *extsock.Conn     // the connection with which the session begins
	n      int
}

func run(device string, dials bool, address, name, count string) (err error) {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	s := sessions[name]
	if s == nil {
		return fmt.Errorf("no session %q", name)
	}
	p := &peer{cfg: &extsock.Config{Startup: extsock.StartupRequire, CloseTimeout: time.Minute}, dials: dials, to: address, n: n}
	if name == "crowd" {
		p.cfg.RecvDepth, p.cfg.RecvSize = 4, 4<<10 // the device's memory for each connection
	}
	p.cfg.Messages = name == "post"
	if device != "process" {
		b := new(verbs.Backend)
		if device != "any" {
			b.Name = device
		}
		p.cfg.Backend, p.device = b, true
		defer func() { err = errors.Join(err, b.Close()) }()
	}
	if !dials {
		if p.l, err = p.listen(name == "keyvalue"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.l.Close()) }()
		fmt.Println("listening on", p.l.Addr())
	}
	if p.first, err = p.connect(); err != nil {
		return err
	}
	began := time.Now()
	said, err := s(p)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	where := "in process"
	if d := p.first.ConnectionState().Device; d != "" {
		where = d
	}
	fmt.Printf("%s succeeded on %s: %s, %v\n", name, where, said, time.Since(began).Round(time.Millisecond))
	return nil
}

// listen opens the address, for the clients of a store or for any peer.
func (p *peer) listen(store bool) (*extsock.Listener, error) {
	if !store {
		return extsock.Listen("tcp", p.to, p.cfg)
	}
	var err error
	if p.store, err = kvcache.NewServer(1024, p.cfg); err != nil {
		return nil, err
	}
	return p.store.Listen(p.to)
}

// connect makes one more connection, and so must the other end.
func (p *peer) connect() (c *extsock.Conn, err error) {
	if p.dials {
		c, err = (&extsock.Dialer{Config: p.cfg}).DialDDP(context.Background(), "tcp", p.to)
	} else {
		c, err = p.l.AcceptDDP()
	}
	if err != nil {
		return nil, err
	}
	if s := c.ConnectionState(); s.ByteStream == p.cfg.Messages || (s.Device != "") != p.device {
		return nil, errors.Join(fmt.Errorf("state %+v", s), c.Close())
	}
	if p.dials && !p.device {
		time.AfterFunc(nudgeAfter, func() {
			_, _ = c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Unsignaled: true}}) // it fails if the connection has ended
		})
	}
	return c, nil
}

// connectAll makes connections until n are open at the same time.
func (p *peer) connectAll(n int) ([]*extsock.Conn, error) {
	all := []*extsock.Conn{p.first}
	for len(all) < n {
		c, err := p.connect()
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", len(all), err)
		}
		all = append(all, c)
	}
	return all, nil
}

// together runs f for each index below n, all at the same time.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
