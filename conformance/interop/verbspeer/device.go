package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"github.com/rddp/rddp/toe/verbs"
)

// open opens a device, or the engine in this process.
func open(device string) (engine, error) {
	switch device {
	case "process":
		return process{}, nil
	case "any":
		device = ""
	}
	d, err := verbs.Open(device)
	if err != nil {
		return nil, err
	}
	return rnic{d}, nil
}

// An rnic makes connections by package verbs.
type rnic struct{ d *verbs.Device }

func (r rnic) close() error { return r.d.Close() }

func (r rnic) dial(ctx context.Context, addr netip.AddrPort) (conn, error) {
	for {
		c := &pair{ctx: ctx}
		q, err := r.d.Dial(ctx, addr, c.config(r.d))
		if err == nil {
			return r.connected(c, q)
		}
		err = errors.Join(err, c.close())
		if !errors.Is(err, syscall.EADDRNOTAVAIL) { // siw: rdma_cm has chosen a port that TCP has in use
			return nil, err
		}
	}
}

// connected returns c with q, and as a counter if the device has atomics.
func (r rnic) connected(c *pair, q *verbs.QP) (conn, error) {
	if !strings.HasPrefix(string(q.PrivateData()), greeting) {
		return nil, errors.Join(fmt.Errorf("private data %q", q.PrivateData()), q.Close(), c.close())
	}
	if c.q = q; r.d.Can(verbs.OpFetchAdd) {
		return atomicPair{c}, nil
	}
	return c, nil
}

// An atomicPair is a pair whose device has atomics.
type atomicPair struct{ *pair }

func (p atomicPair) count(key uint32, addr, add uint64) (uint64, error) {
	err := p.post(verbs.Request{Op: verbs.OpFetchAdd, Key: key, Addr: addr, Add: add}, 0, 8)
	return binary.NativeEndian.Uint64(p.memory()), err
}

func (r rnic) listen(addr netip.AddrPort) (netip.AddrPort, func(context.Context) (conn, error), error) {
	l, err := r.d.Listen(addr)
	if err != nil {
		return addr, nil, err
	}
	return l.Addr(), func(ctx context.Context) (conn, error) {
		c := &pair{ctx: ctx}
		q, err := l.Accept(ctx, c.config(r.d))
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		return r.connected(c, q)
	}, nil
}

// greeting is the private data of each end.
const greeting = "verbspeer"

// A pair is a connection of a queue pair. Its memory is that of the blocks, then buffers for
// receives, then one for a Send.
type pair struct {
	ctx    context.Context
	q      *verbs.QP
	region *verbs.Region
	got    []verbs.Completion // of receives
}

const (
	receives = 8
	sendID   = receives // of what is no receive
	nudgeID  = sendID + 1
)

func sendAt() int { return slots*block + receives*short }

func (p *pair) config(d *verbs.Device) verbs.Config {
	return verbs.Config{Receives: receives, Sends: 4, PrivateData: []byte(greeting), Prepare: func(q *verbs.QP) (err error) {
		rights := verbs.RemoteRead | verbs.RemoteWrite
		if d.Can(verbs.OpFetchAdd) {
			rights |= verbs.RemoteAtomic
		}
		if p.region, err = d.NewRegion(sendAt()+short, rights); err != nil {
			return err
		}
		for id := range receives {
			err = errors.Join(err, q.PostReceive(uint64(id), p.buffer(id)))
		}
		return err
	}}
}

func (p *pair) buffer(id int) verbs.Segment {
	return verbs.Segment{Region: p.region, Off: slots*block + id*short, Len: short}
}

func (p *pair) memory() []byte          { return p.region.Bytes()[:slots*block] }
func (p *pair) where() (uint32, uint64) { return p.region.Remote() }

// nudge sends an RDMA Write of length 0.
func (p *pair) nudge() {
	_ = p.q.Post(verbs.Request{ID: nudgeID, Op: verbs.OpWrite}) // it fails if the connection has ended
}

func (p *pair) close() error {
	if p.q != nil {
		_ = p.q.Close() // it returns nil
	}
	if p.region == nil {
		return nil
	}
	return p.region.Close()
}

// wait waits until done is true of a completion, and keeps the receives that complete meanwhile. What
// has been received before the connection ended comes before what is flushed.
func (p *pair) wait(done func(verbs.Completion) bool) error {
	var one [1]verbs.Completion
	for {
		if _, err := p.q.Wait(p.ctx, one[:]); err != nil {
			return err
		}
		c := one[0]
		if c.Err != nil {
			return fmt.Errorf("%v: %w", c.Op, c.Err)
		}
		if c.ID < receives {
			p.got = append(p.got, c)
		}
		if done(c) {
			return nil
		}
	}
}

func (p *pair) post(r verbs.Request, off, n int) error {
	r.ID = sendID
	if err := p.q.Post(r, verbs.Segment{Region: p.region, Off: off, Len: n}); err != nil {
		return err
	}
	return p.wait(func(c verbs.Completion) bool { return c.ID == sendID })
}

func (p *pair) send(b []byte) error {
	return p.post(verbs.Request{Op: verbs.OpSend}, sendAt(), copy(p.region.Bytes()[sendAt():], b))
}

func (p *pair) write(off, n int, key uint32, addr uint64) error {
	return p.post(verbs.Request{Op: verbs.OpWrite, Key: key, Addr: addr}, off, n)
}

func (p *pair) read(off, n int, key uint32, addr uint64) error {
	return p.post(verbs.Request{Op: verbs.OpRead, Key: key, Addr: addr}, off, n)
}

func (p *pair) receive() ([]byte, error) {
	if len(p.got) == 0 {
		if err := p.wait(func(c verbs.Completion) bool { return c.Op == verbs.OpReceive }); err != nil {
			return nil, err
		}
	}
	c := p.got[0]
	p.got = p.got[1:]
	s := p.buffer(int(c.ID))
	b := append([]byte(nil), p.region.Bytes()[s.Off:][:c.Len]...)
	if err := p.q.PostReceive(c.ID, s); err != nil && !errors.Is(err, verbs.ErrDisconnected) { // it was the last one
		return nil, err
	}
	return b, nil
}
