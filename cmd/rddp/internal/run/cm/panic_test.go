//go:build linux

package cm

import (
	"context"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// A broken is an end with a bug.
type broken struct{ *softrnic.Contact }

func (broken) Start(*conn.Conn, softrnic.Wire, bool, uint32, *uverbs.Attributes, func()) error {
	panic("a bug")
}

func (broken) Accept(context.Context, *conn.Request, *conn.Conn, *conn.Config, []byte) error {
	panic("a bug")
}

// TestPanic: a bug in what a peer's messages lead to ends the id with an event, and other ids go
// on.
func TestPanic(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	at := server.listen()
	listener := server.id
	// breaks gives the id of p an end with a bug, in state connecting.
	breaks := func(p *party) (context.Context, *id) {
		m := p.ch.cm
		m.mu.Lock()
		defer m.mu.Unlock()
		i := m.ids[p.id]
		i.uid, i.end = p.uid, broken{new(softrnic.Contact)}
		ctx, cancel := context.WithCancel(t.Context())
		i.cancel = cancel
		i.become(connecting)
		return ctx, i
	}
	client.route(at)
	ctx, i := breaks(client)
	go i.initiate(ctx, i.src, i.dst, i.end.Config(softrnic.Frames, 1, 1), greet(softrnic.Frames, 1, nil, i.own))
	server.id = server.event(ucma.ConnectRequest).ID
	ctx, i = breaks(server)
	i.accept(ctx, i.request, nil, nil, nil)
	if e := server.event(ucma.ConnectError); e.Status != -int32(syscall.EIO) {
		t.Errorf("the server's status is %d", e.Status)
	}
	i.request.refuse(nil) // as the end of its program does
	client.event(ucma.Rejected)

	client.route(at)
	ctx, i = breaks(client)
	go i.initiate(ctx, i.src, i.dst, i.end.Config(softrnic.Frames, 1, 1), greet(softrnic.Frames, 1, nil, i.own))
	server.accept(2, "")
	client.event(ucma.ConnectError)

	server.id = listener
	m := server.ch.cm
	m.mu.Lock()
	i = m.ids[listener]
	m.mu.Unlock()
	i.receive(nil)
	meet(t, client, server, at)
	if err := m.guard(func() error { panic("a bug") }); err == nil || panics.Count() != 0 {
		t.Errorf("a search: %v, and %d panics that nobody has claimed", err, panics.Count())
	}
}
