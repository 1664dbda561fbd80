package extsock_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 5042 §5 and §6.4 on whole connections: what a program can do about its peers, and
// about eavesdroppers.

func hostPart(c net.Conn) string {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	return host
}

// "A general countermeasure for this style of attack is to monitor active RDMAP Streams and … to
// reap the resources from RDMAP Streams that are not transferring data and possibly terminate the
// Stream." The counts of a connection tell whether it is idle, and Close gives back all that it
// has: memory and buffers.
//
// SEC-5042-6.4.2-1
func TestRFC5042_6_4_2_IdleStreamIsReaped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type stream struct{ client, server *extsock.Conn }
		var streams []stream
		var regions []extsock.Region
		for range 3 {
			ci, cr := simPair(t, simtoe.Config{}, side{}, postRecvs(extsock.Config{}, 4, 64))
			streams = append(streams, stream{ci, cr})
			regions = append(regions, register(t, cr, make([]byte, 8), ddp.RemoteWrite))
		}
		synctest.Wait() // startup is over
		before := make([]stats.Counts, len(streams))
		for i, s := range streams {
			before[i] = s.server.Stats()
		}
		const idle = 1
		for i, s := range streams {
			if i != idle {
				do(t, s.client, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte("busy"), Remote: regions[i].Handle()})
			}
		}
		time.Sleep(time.Hour)
		for i, s := range streams {
			if isIdle := s.server.Stats().Received == before[i].Received; isIdle != (i == idle) {
				t.Errorf("stream %d: idle %t", i, isIdle)
			} else if !isIdle {
				continue
			}
			s.server.Close()
		}
		cq := streams[idle].server.RecvCQ()
		for id := range uint64(4) {
			if d, err := cq.Wait(timeLimit(t)); err != nil || d.ID != id || d.Status != rdmap.StatusFlushed {
				t.Errorf("receive %d of the idle stream: %v, %v", id, d, err)
			}
		}
		for i, r := range regions {
			if _, err := r.Window(0, 8, ddp.RemoteWrite); refusedAs(err, errGone) != (i == idle) {
				t.Errorf("a window of the memory of stream %d: %v", i, err)
			}
		}
		for i, s := range streams {
			if i != idle {
				do(t, s.client, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("lives")})
				complete(t, s.server.RecvCQ())
			}
			s.client.Close()
			s.server.Close()
		}
		settle()
	})
}

// "If an RNIC implementation contains "slow paths" that do not result in the tear down of the
// Stream, it is recommended that an implementation provide the ability to detect the above
// condition and allow an administrator to act": segments of a few octets, and messages of none,
// show in the counts of the connection, which can be closed.
//
// SEC-5042-6.4.4-1
func TestRFC5042_6_4_4_SlowPathsAreCounted(t *testing.T) {
	const n = 200
	for _, tt := range []struct {
		desc string
		send func(p *rawPeer, r extsock.Region)
		ops  func(o stats.Traffic) uint64
	}{
		{"Writes of no octets", func(p *rawPeer, _ extsock.Region) {
			h := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: 1}
			p.send(h.AppendTo(nil)...)
		}, func(o stats.Traffic) uint64 { return o.Writes }},
		{"Writes of 4 octets", func(p *rawPeer, r extsock.Region) {
			p.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO)...)
		}, func(o stats.Traffic) uint64 { return o.Writes }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{}, nil)
				r := register(t, c, make([]byte, 8), ddp.RemoteWrite)
				for range n {
					tt.send(p, r)
				}
				p.send(readRequest(9, 9, 0)...)
				if u, err := p.next(); err != nil { // then everything before it has been counted
					t.Fatal(u, err)
				}
				got := c.Stats().Received
				if tt.ops(got) != n || got.ReadRequests != 1 || got.FPDUs != n+1 {
					t.Errorf("counted: %+v", got)
				}
				if got.Octets/got.FPDUs > 24 {
					t.Errorf("%d octets in %d FPDUs do not look short", got.Octets, got.FPDUs)
				}
				c.Close()
				if u, err := p.next(); err == nil {
					t.Errorf("after Close: %x", u)
				}
			})
		})
	}
}

// "The receipt of an IKE Phase 2 delete message MUST NOT be interpreted as a reason for tearing
// down a DDP/RDMA Stream. Rather, it is preferable to leave the Stream up, and if additional
// traffic is sent on it, to bring up another IKE Phase 2 SA": all that the stream has of that is a
// silence, of any length.
//
// SEC-5042-5.4.5-2
func TestRFC5042_5_4_5_SilenceEndsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		p := make([]byte, 5)
		for _, silence := range []time.Duration{time.Second, time.Hour, 100 * 24 * time.Hour} {
			time.Sleep(silence)
			for _, c := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
				if _, err := c[0].Write([]byte("hello")); err != nil {
					t.Fatalf("after %v: %v", silence, err)
				}
				if _, err := io.ReadFull(c[1], p); err != nil || string(p) != "hello" {
					t.Fatalf("after %v: %q, %v", silence, p, err)
				}
			}
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// A wiretap is a net.Conn whose written octets are kept, and may be changed on their way.
type wiretap struct {
	net.Conn
	mu     sync.Mutex
	octets []byte
	change func(p []byte) // may be nil
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.mu.Lock()
	p = bytes.Clone(p)
	if w.change != nil {
		w.change(p)
	}
	w.octets = append(w.octets, p...)
	w.mu.Unlock()
	return w.Conn.Write(p)
}

// "it is not RECOMMENDED that TLS be layered on top of RDMAP or DDP", where it "does not protect
// the RDMAP and/or DDP headers". Config.TLS and a *tls.Conn lie below MPA, where "TCP must gather
// all out-of-order packets before TLS can decrypt them", which kernel TCP does anyway: nobody sees
// payload, handles or startup (§5.3: "the read/written data must be encrypted"), and the stream is
// "authenticated, integrity protected" (§5.4.1): nobody can change an octet, or be somebody else.
//
// SEC-5042-5.3-1, SEC-5042-5.4.1-1, SEC-5042-5.4.2-1, SEC-5042-5.4.2-2
func TestRFC5042_5_4_2_TLSLiesBelow(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	pair := func(t *testing.T) (w *wiretap, client, server net.Conn) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		w = &wiretap{Conn: a}
		return w, tls.Client(w, clientTLS), tls.Server(b, serverTLS)
	}
	t.Run("nothing is seen", func(t *testing.T) {
		secret := pattern(100, 77)
		for _, plain := range []bool{false, true} { // without TLS all is there: the test can see it
			w, client, server := pair(t)
			if plain {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				w = &wiretap{Conn: a}
				client, server = w, b
			}
			ci, cr := switched(t, client, server, side{}, postRecvs(extsock.Config{}, 2, 100))
			memory := make([]byte, 100)
			r := register(t, cr, memory, ddp.RemoteWrite)
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: secret, Remote: r.Handle()})
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: r.Handle().AppendTo(nil)})
			complete(t, cr.RecvCQ())
			if !bytes.Equal(memory, secret) {
				t.Errorf("the Write has placed %x", memory)
			}
			w.mu.Lock()
			for what, p := range map[string][]byte{
				"MPA startup": []byte(mpaKey), "payload": secret, "a handle": r.Handle().AppendTo(nil),
				"a DDP header": ddp.TaggedHeader{Last: true, RsvdULP: 0x40, STag: r.Handle().STag, TO: r.Handle().TO}.AppendTo(nil),
			} {
				if bytes.Contains(w.octets, p) != plain {
					t.Errorf("without TLS: %t; %s is on the wire: %t", plain, what, !plain)
				}
			}
			w.mu.Unlock()
		}
	})
	t.Run("nothing is changed", func(t *testing.T) {
		w, client, server := pair(t)
		ci, cr := switched(t, client, server, side{}, side{})
		memory := make([]byte, 1000)
		r := register(t, cr, memory, ddp.RemoteWrite)
		one := make([]byte, 1)
		if _, err := ci.Write(one); err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Read(one); err != nil { // and with it all that startup has sent
			t.Fatal(err)
		}
		w.mu.Lock()
		w.change = func(p []byte) { p[len(p)/2] ^= 1 }
		w.mu.Unlock()
		if err := ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: pattern(1000, 1), Remote: r.Handle()}); err != nil {
			t.Fatal(err)
		}
		if n, err := cr.Read(one); n != 0 || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Read = %d, %v, want TLS's error", n, err)
		}
		if !bytes.Equal(memory, make([]byte, 1000)) {
			t.Error("octets that were changed on their way were placed")
		}
	})
	t.Run("nobody is somebody else", func(t *testing.T) {
		_, impostor := tlsConfigs(t) // the same name, another authority
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci := extsock.NewConn(tls.Client(a, clientTLS), true, nil)
		cr := extsock.NewConn(tls.Server(b, impostor), false, nil)
		defer ci.Close()
		defer cr.Close()
		go cr.EnableDDP(timeLimit(t), nil) // fails as well
		var bad *tls.CertificateVerificationError
		if err := ci.EnableDDP(timeLimit(t), nil); !errors.As(err, &bad) {
			t.Errorf("EnableDDP toward an impostor: %v", err)
		}
		for name, accepted := range map[string]*tls.Config{"peer": clientTLS, "": clientTLS.Clone()} {
			accepted.ServerName = name // "": that of the address that is dialed, which the certificate has not either
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: impostor})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			served := make(chan error, 1)
			go func() {
				c, err := acceptConn(l)
				if err == nil {
					err = c.EnableDDP(timeLimit(t), nil)
					c.Close()
				}
				served <- err
			}()
			c, err := (&extsock.Dialer{Config: &extsock.Config{TLS: accepted}}).DialContext(timeLimit(t), "tcp", l.Addr().String())
			if err == nil {
				c.Close()
			}
			if bad = nil; !errors.As(err, &bad) {
				t.Errorf("Dial of an impostor with Config.TLS, name %q: %v", name, err)
			}
			if err := <-served; err == nil {
				t.Error("the impostor has a stream")
			}
		}
	})
}

// The counts include each kind of message that costs its receiver work and does not end the
// connection. So a program can notice a peer that sends too many.
//
// SEC-5042-6.4.4-1
func TestRFC5042_6_4_4_EachKindIsCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, postRecvs(extsock.Config{Messages: true}, 8, 64))
		r := register(t, cr, make([]byte, 8), everyAccess)
		gone := register(t, cr, make([]byte, 8), everyAccess)
		also := register(t, cr, make([]byte, 8), everyAccess)
		h := r.Handle()
		for _, wr := range []rdmap.WorkRequest{
			{Op: rdmap.WorkSend}, {Op: rdmap.WorkSend, Solicited: true},
			{Op: rdmap.WorkSendInvalidate, Invalidate: gone.Handle().STag}, {Op: rdmap.WorkSendInvalidate, Solicited: true, Invalidate: also.Handle().STag},
			{Op: rdmap.WorkImmediate}, {Op: rdmap.WorkImmediate, Solicited: true}, {Op: rdmap.WorkWrite},
			{Op: rdmap.WorkFetchAdd, Remote: h}, {Op: rdmap.WorkCmpSwap, Remote: h}, {Op: rdmap.WorkSwap, Remote: h},
			{Op: rdmap.WorkRead},
		} {
			do(t, ci, wr) // the last ones are answered: then everything before them has been counted
		}
		want := stats.Traffic{Sends: 4, Writes: 2, ReadRequests: 1, AtomicRequests: 3, ImmediateData: 2} // one Write is the RTR
		got := cr.Stats().Received
		want.FPDUs, want.Octets = got.FPDUs, got.Octets
		if got != want {
			t.Errorf("counted: %+v, want %+v", got, want)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// The completion queues that a connection makes have room for the Completions of all Work Requests
// that its queues take, even if the program takes none of them.
//
// SEC-5042-6.4.3.2-2, SEC-5042-A-5
func TestRFC5042_6_4_3_2_DefaultQueuesHoldAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const depth = 7
		ci, cr := simPair(t, simtoe.Config{}, postRecvs(extsock.Config{Messages: true, SendDepth: depth}, depth, 8), inMessages)
		for id := range uint64(depth) {
			if err := ci.Post(&rdmap.WorkRequest{ID: id, Op: rdmap.WorkWrite}); err != nil {
				t.Errorf("Write %d: %v", id, err)
			}
		}
		if err := ci.PostRecv(rdmap.RecvRequest{}); !errors.Is(err, rdmap.ErrQueueFull) {
			t.Errorf("one receive too many: %v", err)
		}
		ci.Close()
		cr.Close()
		synctest.Wait()
		if s, r := ci.SendCQ().Len(), ci.RecvCQ().Len(); s != depth || r != depth {
			t.Errorf("%d and %d Completions, want %d each", s, r, depth)
		}
		settle()
	})
}
