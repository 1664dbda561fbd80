//go:build linux

package cm

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// connect sends CONNECT with the number of a queue pair.
func (p *party) connect(qpn uint32, private string) {
	p.t.Helper()
	param := ucma.ConnParam{QPN: qpn, PrivateData: []byte(private), Valid: true}
	p.do(ucma.Connect, (&ucma.ConnRequest{ID: p.id, Param: param}).AppendConnect(nil))
}

// accept takes a request and accepts it with the number of a queue pair.
func (p *party) accept(qpn uint32, private string) (request ucma.Event) {
	p.t.Helper()
	request = p.event(ucma.ConnectRequest)
	p.id = request.ID
	param := ucma.ConnParam{QPN: qpn, PrivateData: []byte(private), Valid: true}
	p.do(ucma.Accept, (&ucma.ConnRequest{UID: p.uid, ID: p.id, Param: param}).AppendAccept(nil))
	return request
}

// disconnect sends DISCONNECT.
func (p *party) disconnect() {
	p.t.Helper()
	p.do(ucma.Disconnect, ucma.Numbers{ID: p.id}.AppendPlain(nil)[:4])
}

// TestWithoutQueuePair: a connection that has no queue pair at one or both ends carries the
// numbers and the private data of the programs, and its end.
func TestWithoutQueuePair(t *testing.T) {
	const own = 0x77 // a number that belongs to no queue pair
	for _, tt := range []struct {
		desc                   string
		clientHas, serverHas   bool // a queue pair
		clientEnds, serverDies bool
	}{
		{desc: "no end has one, and the client disconnects", clientEnds: true},
		{desc: "no end has one, and the server disconnects"},
		{desc: "no end has one, and the server's program ends", serverDies: true},
		{desc: "the client has one, and the client disconnects", clientHas: true, clientEnds: true},
		{desc: "the client has one, and the server disconnects", clientHas: true},
		{desc: "the server has one, and the client disconnects", serverHas: true, clientEnds: true},
		{desc: "the server has one, and the server disconnects", serverHas: true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			server, client := newParty(t, 1), newParty(t, 2)
			client.route(server.listen())
			number := func(p *party, has bool) uint32 {
				if !has {
					return own
				}
				p.change(uverbs.Init)
				return p.qpn
			}
			asks := number(client, tt.clientHas)
			client.connect(asks, "hello")
			answers := uint32(own)
			if tt.serverHas {
				answers = server.qpn
			}
			if e := server.accept(answers, "world"); e.Param.QPN != asks || string(e.Param.PrivateData[:5]) != "hello" {
				t.Errorf("the request has %+v", e.Param)
			}
			if e := client.event(ucma.ConnectResponse); e.Param.QPN != answers || string(e.Param.PrivateData[:5]) != "world" {
				t.Errorf("the reply has %+v", e.Param)
			}
			server.event(ucma.Established)
			first, second := server, client
			if tt.clientEnds {
				first, second = client, server
			}
			if tt.serverDies {
				server.ch.Close()
			} else {
				first.disconnect()
			}
			second.event(ucma.Disconnected)
			second.disconnect()
			if !tt.serverDies {
				first.event(ucma.Disconnected)
			}
		})
	}
}

// TestDisconnectedLast: a program that disconnects learns of the end of its connection only once
// the peer's program has learned of it, and has answered: by DISCONNECT, or by its own end.
func TestDisconnectedLast(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("the peer dies: ", dies), func(t *testing.T) {
			server, client := newParty(t, 1), newParty(t, 2)
			client.route(server.listen())
			client.connect(0x77, "")
			server.accept(0x78, "")
			client.event(ucma.ConnectResponse)
			server.event(ucma.Established)
			client.disconnect()
			client.disconnect() // a second one changes nothing
			server.event(ucma.Disconnected)
			if ok, _ := client.ch.Take(func(*ucma.Event) syscall.Errno { return 0 }); ok {
				t.Error("the program that disconnects has an event before the peer has answered")
			}
			if dies {
				server.ch.Close()
			} else {
				server.disconnect()
			}
			client.event(ucma.Disconnected)
		})
	}
}

// TestWithoutQueuePairRefused: a rejection reaches a client that has no queue pair.
func TestWithoutQueuePairRefused(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	client.route(server.listen())
	client.connect(0, "")
	request := server.event(ucma.ConnectRequest)
	server.do(ucma.Reject, (&ucma.Rejection{ID: request.ID, Reason: consumerDefined}).AppendTo(nil))
	if e := client.event(ucma.Rejected); e.Status != consumerDefined {
		t.Errorf("status %d", e.Status)
	}
}

// TestRequestLeft: run --check finds the id of a request that the program has got and does not
// destroy, also if it has rejected it. An id that it has not got yet is not its own.
func TestRequestLeft(t *testing.T) {
	for _, got := range []bool{false, true} {
		server, client := newParty(t, 1), newParty(t, 2)
		var log bytes.Buffer
		server.ch.check = check.NewReporter(slog.New(slog.NewTextHandler(&log, nil)), nil)
		client.route(server.listen())
		client.connect(0x77, "")
		want := 1 // the listener
		if got {
			request := server.event(ucma.ConnectRequest)
			server.do(ucma.Reject, (&ucma.Rejection{ID: request.ID, Reason: consumerDefined}).AppendTo(nil))
			client.event(ucma.Rejected)
			want++
		} else {
			prototest.Wait(t, "a request", func() bool {
				server.ch.cm.mu.Lock()
				defer server.ch.cm.mu.Unlock()
				return len(server.ch.events) > 0
			})
		}
		server.ch.Close()
		if n := strings.Count(log.String(), "check=leak"); n != want {
			t.Errorf("got %t: %d ids are left, want %d:\n%s", got, n, want, log.String())
		}
	}
}
