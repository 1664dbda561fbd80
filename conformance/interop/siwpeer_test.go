//go:build interop

package interop

import (
	"hash/crc32"
	"strings"
	"testing"
)

// peerPort is the port on which a test's listening siwpeer listens.
const peerPort = 7200

// pair is two siwpeers of one guest with a connection between them: client connected to server.
// Both have a region "a" of regionLen octets, open to remote Reads and Writes; the server's is
// pattern 1, the client's 2.
type pair struct {
	client, server *Peer
	toServer       Region // the server's region, for the client's Reads and Writes
}

// pairConfig says how a pair connects. "" means siwpeer's default.
type pairConfig struct {
	server, client string // arguments of accept and connect
	recvs          string // arguments of the server's recv; "" is "n=8 len=65536", "none" posts none
}

func newPair(t *testing.T, g *Guest, c pairConfig) *pair {
	t.Helper()
	p := &pair{server: g.Peer(t), client: g.Peer(t)}
	p.server.Do("listen port=%d", peerPort)
	p.server.Send("request")
	p.client.Do("resolve addr=%s port=%d", GuestIP, peerPort)
	p.client.Region("a", regionLen, "rw")
	p.client.Do("fill seed=2")
	p.client.Do("recv n=8")
	p.client.Send("connect %s", c.client)
	p.server.MustReply()
	p.toServer = p.server.Region("a", regionLen, "rw")
	p.server.Do("fill seed=1")
	switch c.recvs {
	case "":
		p.server.Do("recv n=8")
	case "none":
	default:
		p.server.Do("recv %s", c.recvs)
	}
	p.server.Do("accept %s", c.server)
	p.client.MustReply()
	return p
}

// end disconnects in an orderly way: both sides see it and flush posted requests.
func (p *pair) end(t *testing.T) {
	t.Helper()
	p.client.Do("disconnect")
	p.server.Do("event name=disconnected")
	p.client.Do("event name=disconnected")
	p.client.Do("close")
	p.server.Do("close")
}

// A completion wakes a receiver that asked for it. siw never wakes a receiver that asked only for
// solicited completions, so the SE of a Send is visible only in a capture, not at a siw receiver.
// If siw ever does so, only a Send with SE may wake it.
func TestPeerWake(t *testing.T) {
	g := Start(t)
	p := newPair(t, g, pairConfig{})
	p.server.Do("arm q=rq")
	p.client.Do("do op=send len=10")
	p.server.Do("wake q=rq")
	p.server.Do("arm q=rq solicited=1")
	p.client.Do("do op=send len=10")
	p.server.Wait("rq", 2)
	if r := p.server.Try("wake q=rq ms=300"); r.OK {
		t.Errorf("a Send without SE woke the receiver: %s", r)
	}
	p.client.Do("do op=sendse len=10")
	p.server.Wait("rq", 1)
	t.Logf("a Send with SE wakes the receiver: %t", p.server.Try("wake q=rq ms=300").OK)
	p.end(t)
}

// Many requests of all kinds at once: all complete, and requests of one kind in order. (siw lets a
// Write or Send complete ahead of an earlier Read.)
func TestPeerMixed(t *testing.T) {
	g := Start(t)
	p := newPair(t, g, pairConfig{recvs: "n=40 len=2000", server: "ird=8 ord=8", client: "ird=8 ord=8"})
	p.client.Send("post op=send n=20 len=2000 step=100")
	p.client.Send("post op=read n=10 len=3000 off=500000 step=3000 to=%d stag=%d", p.toServer.TO, p.toServer.STag)
	p.client.Send("post op=write n=10 len=3000 step=3000 to=%d stag=%d", p.toServer.TO+500000, p.toServer.STag)
	p.client.Send("post op=send n=20 len=1 step=1")
	for range 4 {
		p.client.MustReply()
	}
	last := map[string]uint32{}
	for _, c := range p.client.Wait("sq", 60) {
		if c.Status != "success" || c.ID <= last[c.Op] {
			t.Errorf("after number %d of its kind: got %+v", last[c.Op], c)
		}
		last[c.Op] = c.ID
	}
	for i, c := range p.server.Wait("rq", 40) {
		data := Pattern(2, 4000)
		if i < 20 {
			data = data[100*i:][:2000]
		} else {
			data = data[i-20:][:1]
		}
		if c.Status != "success" || c.CRC32 != crc32.ChecksumIEEE(data) {
			t.Errorf("receive %d: got %+v", i+1, c)
		}
	}
	p.end(t)
}

func TestPeerConnectionRefused(t *testing.T) {
	g := Start(t)
	client := g.Peer(t)
	client.Do("resolve addr=%s port=%d", GuestIP, peerPort+99)
	if r := client.Try("connect"); r.OK {
		t.Errorf("connected to a port where nobody listens: %s", r)
	}
}

// An orderly end flushes posted receives.
func TestPeerDisconnectFlushes(t *testing.T) {
	g := Start(t)
	p := newPair(t, g, pairConfig{})
	p.client.Do("disconnect")
	for _, peer := range []*Peer{p.client, p.server} {
		for _, c := range peer.Wait("rq", 8) {
			if c.Status != "wr_flush_err" {
				t.Errorf("a posted receive completes with %q, want wr_flush_err", c.Status)
			}
		}
		peer.Do("event name=disconnected")
	}
}

// Operations that siw does not support are refused when they are posted.
func TestPeerUnsupported(t *testing.T) {
	g := Start(t)
	p := newPair(t, g, pairConfig{})
	for _, op := range []string{"fetchadd", "cmpswap", "sendimm", "writeimm"} {
		if r := p.client.Try("do op=%s len=8 to=%d stag=%d ms=1000", op, p.toServer.TO, p.toServer.STag); r.OK || r.Last.Fields["call"] != "ibv_post_send" {
			t.Errorf("%s: %s, want a failure of ibv_post_send", op, r)
		}
	}
	p.end(t)
}

// wantLog checks how often siw logged something since the test began.
func wantLog(t *testing.T, g *Guest, text string, want int) {
	t.Helper()
	got := 0
	for _, l := range g.Log(t) {
		if strings.Contains(l, text) {
			got++
		}
	}
	if got != want {
		t.Errorf("siw logged %q %d times, want %d", text, got, want)
	}
}
