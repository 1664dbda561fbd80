//go:build linux

package cm

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
)

// TestErrnos compares the errors of addresses and options with the kernel's (ucma_bind,
// ucma_resolve_addr, rdma_set_reuseaddr, rdma_set_afonly).
func TestErrnos(t *testing.T) {
	p := newParty(t, 1)
	var log bytes.Buffer
	p.ch.cm.log = slog.New(slog.NewTextHandler(&log, nil))
	try := func(cmd ucma.Command, in []byte) syscall.Errno {
		_, _, e := p.ch.Do(optionCaller{}, cmd, in, 336)
		return e
	}
	option := func(name uint32, value uint64) syscall.Errno {
		return try(ucma.SetOption, setOption(value, p.id, ucma.LevelID, name, 4))
	}
	want := func(desc string, got, want syscall.Errno) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", desc, got, want)
		}
	}
	p.newID()
	want("BIND without an address", try(ucma.Bind, (&ucma.BindRequest{ID: p.id}).AppendTo(nil)), syscall.EINVAL)
	want("RESOLVE_ADDR without an address", try(ucma.ResolveAddr, (&ucma.Resolution{ID: p.id}).AppendTo(nil, 1)), syscall.EINVAL)
	want("no REUSEADDR, before BIND", option(ucma.OptionReuse, 0), 0)
	p.bind(netip.AddrPortFrom(localhost, 0))
	want("AFONLY after BIND", option(ucma.OptionAFOnly, 1), 0)
	want("REUSEADDR after BIND", option(ucma.OptionReuse, 1), 0)
	want("no REUSEADDR after BIND", option(ucma.OptionReuse, 0), syscall.EINVAL)
	p.listens()
	want("AFONLY after LISTEN", option(ucma.OptionAFOnly, 1), syscall.EINVAL)
	want("REUSEADDR after LISTEN", option(ucma.OptionReuse, 1), syscall.EINVAL)
	if s := log.String(); strings.Count(s, "level=INFO msg=\"rdma_cm command refused\"") != 5 || !strings.Contains(s, `command=BIND why="invalid argument: its input: ucma: too short"`) {
		t.Errorf("the log says %q", s)
	}
}

// TestDisconnectErrnos compares the errors of DISCONNECT with the kernel's (rdma_disconnect, which
// for InfiniBand refuses only an id without a connection's state).
func TestDisconnectErrnos(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	disconnect := func(desc string, p *party, want syscall.Errno) {
		t.Helper()
		if _, _, e := p.ch.Do(nil, ucma.Disconnect, ucma.Numbers{ID: p.id}.AppendPlain(nil)[:4], 0); e != want {
			t.Errorf("%s: %v, want %v", desc, e, want)
		}
	}
	server.newID()
	disconnect("a new id", server, syscall.EINVAL)
	client.route(server.listen())
	disconnect("a listener", server, 0)
	disconnect("an id with a route", client, syscall.EINVAL)
	client.connect(1, "")
	disconnect("an id that connects", client, 0)
	server.id = server.event(ucma.ConnectRequest).ID
	disconnect("an id with a request", server, 0)
	server.do(ucma.Reject, (&ucma.Rejection{ID: server.id}).AppendTo(nil))
	client.event(ucma.Rejected)
	disconnect("an id that was rejected", client, 0)
	disconnect("an id that has rejected", server, 0)
}
