//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// capabilityRecord is the beginning of a default Request of this stack, as siw's program sees it.
// It begins the record by which two rddp ends recognize each other.
const (
	capabilityRecord    = "rddp"
	capabilityRecordLen = 20 // octets
)

// MPA startup between this stack and siw, and a Send each way after it.
func TestRddpStartup(t *testing.T) {
	write, read := rdmap.OpWrite, rdmap.OpReadRequest
	for _, tt := range []struct {
		desc         string
		siwInitiates bool
		params       []string
		own          extsock.Config
		siw          string // arguments of siwpeer's accept or connect
		revision     uint8
		crc          bool
		rtr          rdmap.Opcode // of the Initiator's first FPDU; OpTerminate means any
	}{
		{"CRC wanted by nobody", false, nil, extsock.Config{NoCRC: true}, "", 2, false, rdmap.OpTerminate},
		{"CRC wanted by this stack", false, nil, extsock.Config{}, "", 2, true, rdmap.OpTerminate},
		// As the Responder siw does not enforce mpa_crc_required.
		{"CRC required by siw, not wanted", false, []string{"mpa_crc_required=1"}, extsock.Config{NoCRC: true}, "", 2, false, rdmap.OpTerminate},
		{"CRC wanted by nobody", true, nil, extsock.Config{NoCRC: true}, "", 2, false, write},
		{"CRC wanted by this stack", true, nil, extsock.Config{}, "", 2, true, write},
		{"CRC required by siw, not wanted", true, []string{"mpa_crc_required=1"}, extsock.Config{NoCRC: true}, "", 2, true, write},
		{"revision 2, not enhanced", false, nil, extsock.Config{NoEnhanced: true}, "", 2, true, rdmap.OpTerminate},
		{"revision 1", false, nil, extsock.Config{Revision: 1}, "", 1, true, rdmap.OpTerminate},
		{"revision 1", true, []string{"mpa_version=1"}, extsock.Config{NoCRC: true}, "", 1, false, write},
		{"depths", false, nil, extsock.Config{IRD: 6, ORD: 9}, "ird=5 ord=7", 2, true, rdmap.OpTerminate},
		{"depths", true, nil, extsock.Config{IRD: 6, ORD: 9}, "ird=5 ord=7", 2, true, write},
		{"peer-to-peer, all but Send", false, nil, extsock.Config{PeerToPeer: true}, "", 2, true, write},
		{"peer-to-peer, all", false, nil, extsock.Config{PeerToPeer: true, RTR: mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead}, "", 2, true, write},
		{"peer-to-peer, Read", false, nil, extsock.Config{PeerToPeer: true, RTR: mpa.RTRRead, NoCRC: true}, "", 2, false, read},
		{"peer-to-peer, all", true, []string{"peer_to_peer=1"}, extsock.Config{}, "", 2, true, write},
		{"peer-to-peer, siw wants Read", true, []string{"peer_to_peer=1", "rtr_kinds=0x4000"}, extsock.Config{}, "", 2, true, read},
		{"peer-to-peer, this stack wants Read", true, []string{"peer_to_peer=1"}, extsock.Config{RTR: mpa.RTRRead}, "", 2, true, read},
	} {
		t.Run(tt.desc+"/"+roleOfSiw(tt.siwInitiates), func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, append([]string{"fix_split_trailer=1"}, tt.params...)...) // siw's fault "split trailer"
			up, down := []byte("to siw"), []byte("from siw")
			l := newLink(t, g, LinkConfig{siwInitiates: tt.siwInitiates, own: tt.own, private: up,
				siw: strings.TrimSpace(orElse(tt.siw, "ird=16 ord=16") + " pd=" + hex.EncodeToString(down))})
			theirs, ours := l.seen.startup(t, false), l.seen.startup(t, true)
			if theirs.Revision != tt.revision || ours.Revision != tt.revision {
				t.Errorf("the revisions are %d and siw's %d, want %d", ours.Revision, theirs.Revision, tt.revision)
			}
			if got := l.conn.ConnectionState().PeerPrivateData; !bytes.Equal(got, down) {
				t.Errorf("this stack got the private data %q, want %q", got, down)
			}
			got := l.told.Bytes("pd")
			if !bytes.HasSuffix(got, up) || strings.HasPrefix(string(got), capabilityRecord) == tt.siwInitiates {
				t.Errorf("siw's program got the private data %q, want %q; only a Request is to have the record of capabilities", got, up)
			}
			state := l.conn.ConnectionState()
			ird, ord := state.IRD, state.ORD
			if wantIRD, wantORD := l.wantDepths(tt.own); ird != wantIRD || ord != wantORD {
				t.Errorf("this stack's IRD is %d and its ORD %d, want %d and %d", ird, ord, wantIRD, wantORD)
			}
			l.do(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("there")})
			if c := l.siw.Wait("rq", 1)[0]; string(c.Data) != "there" {
				t.Errorf("siw got %+v", c)
			}
			l.siw.Do("put hex=%x", "and back")
			l.siw.Do("do op=send len=8")
			if c, got := l.received(); string(got) != "and back" {
				t.Errorf("this stack got %q, %v", got, c)
			}
			first := l.seen.fpdus(!tt.siwInitiates)
			if tt.rtr != rdmap.OpTerminate && (len(first) == 0 || first[0].opcode() != tt.rtr) {
				t.Errorf("the Initiator's first FPDU is %v, want %v", first, tt.rtr)
			}
			wantCRC(t, l, tt.crc)
			l.end(!tt.siwInitiates)
		})
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Private data of all lengths that siw's programs can send, in both directions and roles.
func TestRddpPrivateData(t *testing.T) {
	for _, tt := range []struct {
		desc         string
		siwInitiates bool
		own          extsock.Config
		lens         []int
	}{
		{"no record", false, extsock.Config{NoCRC: true, NoCapabilities: true}, []int{0, 1, 100, 251}},
		{"with the record of capabilities", false, extsock.Config{NoCRC: true}, []int{0, 1, 231}},
		{"no record", true, extsock.Config{NoCRC: true}, []int{0, 1, 100, 251}},
		{"revision 1", false, extsock.Config{NoCRC: true, NoCapabilities: true, Revision: 1}, []int{251}},
	} {
		for _, n := range tt.lens {
			t.Run(fmt.Sprintf("%s/%s/%d", tt.desc, roleOfSiw(tt.siwInitiates), n), func(t *testing.T) {
				g := Start(t)
				up, down := Pattern(5, n), Pattern(6, n)
				l := newLink(t, g, LinkConfig{siwInitiates: tt.siwInitiates, own: tt.own, private: up,
					siw: strings.TrimSuffix("ird=16 ord=16 pd="+hex.EncodeToString(down), " pd=")})
				if got := l.conn.ConnectionState().PeerPrivateData; !bytes.Equal(got, down) {
					t.Errorf("this stack got private data %x, want %x", got, down)
				}
				got := l.told.Bytes("pd")
				if !tt.siwInitiates && !tt.own.NoCapabilities {
					got = got[min(len(got), capabilityRecordLen):]
				}
				if !bytes.Equal(got, up) {
					t.Errorf("siw's program got private data %x, want %x", got, up)
				}
			})
		}
	}
}

// A program rejects the other one's Request, with private data that says why.
func TestRddpReject(t *testing.T) {
	please, no := []byte("please"), []byte("no, thank you")
	for _, revision := range []int{1, 2} {
		t.Run(fmt.Sprintf("by siw, revision %d", revision), func(t *testing.T) {
			g := Start(t)
			siw := g.Peer(t)
			siw.Do("listen port=%d", LinkPort)
			siw.Send("request")
			siw.Send("reject pd=%x", no)
			conn, err := extsock.Dial("tcp", g.Forward(t, LinkPort), &extsock.Config{Revision: revision, NoCapabilities: true})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			err = conn.EnableDDP(t.Context(), please)
			var rejected *mpa.RejectError
			if !errors.As(err, &rejected) || !bytes.Equal(rejected.PrivateData, no) {
				t.Errorf("EnableDDP = %v, want a rejection with the private data %q", err, no)
			}
			if conn.ConnectionState().DDPMode {
				t.Error("the connection is in DDP mode after the rejection")
			}
			if e, _ := siw.MustReply().Event("connect_request"); !bytes.Equal(e.Bytes("pd"), please) {
				t.Errorf("siw's program got %q, want %q", e.Bytes("pd"), please)
			}
			siw.MustReply()
		})
		t.Run(fmt.Sprintf("by this stack, revision %d", revision), func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, fmt.Sprintf("mpa_version=%d", revision))
			conn, siw := acceptFromSiw(t, g, extsock.Config{}, "connect pd="+hex.EncodeToString(please))
			request, err := conn.ReceiveRequest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(request.PrivateData, please) {
				t.Errorf("this stack got %q, want %q", request.PrivateData, please)
			}
			if err := request.Reject(t.Context(), no); err != nil {
				t.Fatal(err)
			}
			r := siw.Reply()
			if e, ok := r.Event("rejected"); r.OK || !ok || !bytes.Equal(e.Bytes("pd"), no) {
				t.Errorf("siw's program sees %s, want a rejection with %q", r, no)
			}
		})
	}
}

// acceptFromSiw makes siw connect with this command. The caller reads the answer.
func acceptFromSiw(t *testing.T, g *Guest, cfg extsock.Config, connect string) (*extsock.Conn, *Peer) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	siw := g.Peer(t)
	siw.Do("resolve addr=%s port=%d", HostIP, l.Addr().(*net.TCPAddr).Port)
	siw.Do("recv n=4")
	siw.Send("%s", connect)
	conn, err := acceptConn(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, siw
}

// If the two ends cannot agree, both report it and neither hangs. One case is not tested: this
// stack as an Initiator that is offered no RTR that it supports. It must then end the connection
// with a Terminate, and that crashes the guest's kernel (siw's fault "panic").
func TestRddpStartupFails(t *testing.T) {
	t.Run("siw does no markers/siw is Responder", func(t *testing.T) {
		g := Start(t)
		siw := g.Peer(t)
		siw.Do("listen port=%d", LinkPort)
		conn, err := extsock.Dial("tcp", g.Forward(t, LinkPort), &extsock.Config{Markers: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var rejected *mpa.RejectError
		if err := conn.EnableDDP(t.Context(), nil); !errors.As(err, &rejected) {
			t.Errorf("EnableDDP = %v, want a rejection", err)
		}
	})
	t.Run("siw does no markers/siw is Initiator", func(t *testing.T) {
		g := Start(t)
		conn, siw := acceptFromSiw(t, g, extsock.Config{Markers: true}, "connect")
		if err := conn.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if r := siw.Reply(); r.OK {
			t.Errorf("siw is connected: %s", r)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("Read on the refused connection succeeds")
		}
	})
	t.Run("no common RTR/siw is Initiator", func(t *testing.T) {
		g := Start(t)
		g.SetSiw(t, "peer_to_peer=1")
		// No CRC, because siw sends this Terminate without one in any case (its fault "CRC of the
		// first Terminate").
		conn, siw := acceptFromSiw(t, g, extsock.Config{RTR: mpa.RTRSend, NoCRC: true}, "connect")
		if err := conn.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if r := siw.Reply(); r.OK {
			t.Errorf("siw is connected: %s", r)
		}
		// In the RFC's order, its octets 02 07 00 are an error of RDMAP, which can't be the first
		// message of an Initiator.
		_, err := conn.Read(make([]byte, 1))
		var e *rdmap.TerminateError
		if !errors.As(err, &e) || !e.Remote {
			t.Fatalf("Read = %v, want siw's Terminate", err)
		}
		got, want := codesOf(e.Terminate.Code), codes{2, 0, uint8(mpa.CodeNoRTR)}
		if got != want {
			t.Errorf("this stack understands siw's Terminate as %v, want %v", got, want)
		}
	})
}

// This stack as the Responder holds back its program's messages until siw's first FPDU. "MPA
// Responder mode implementations MUST receive and validate at least one FPDU before sending any
// FPDUs or Markers." (RFC 5044 §7.1.2)
func TestRddpIsFenced(t *testing.T) {
	for _, tt := range []struct{ desc, first string }{
		{"a Write of length 0", "do op=write len=0"}, {"a Send", "do op=send len=3"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			l := newLink(t, g, LinkConfig{siwInitiates: true, quiet: true, own: extsock.Config{NoCRC: true}})
			wr := rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("early")}
			if err := l.conn.Post(&wr); err != nil {
				t.Fatal(err)
			}
			if r := l.siw.Try("wait q=rq ms=300"); r.OK || len(l.seen.fpdus(true)) != 0 {
				t.Errorf("this stack sent before siw's first FPDU: %s", r)
			}
			l.siw.Do("%s", tt.first)
			if c := l.siw.Wait("rq", 1)[0]; string(c.Data) != "early" {
				t.Errorf("siw got %+v", c)
			}
			l.end(false)
		})
	}
}

// Each end closes in an orderly way, and the other end sees an orderly close. Posted requests are
// flushed.
func TestRddpClose(t *testing.T) {
	for _, siwInitiates := range []bool{false, true} {
		t.Run("by this stack/"+roleOfSiw(siwInitiates), func(t *testing.T) {
			g := Start(t)
			l := newLink(t, g, LinkConfig{siwInitiates: siwInitiates, own: extsock.Config{NoCRC: true}})
			l.do(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("last words")})
			if err := l.conn.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			l.siw.Do("event name=disconnected")
			list := l.siw.Wait("rq", linkRecvs)
			if string(list[0].Data) != "last words" || list[1].Status != "wr_flush_err" {
				t.Errorf("siw's receives complete as %+v, %+v", list[0], list[1])
			}
			for range linkRecvs {
				if c := l.completion(l.conn.RecvCQ()); c.Status != rdmap.StatusFlushed {
					t.Fatalf("a receive completes as %v", c)
				}
			}
			wantLog(t, g, "TERM", 0)
		})
		t.Run("by siw/"+roleOfSiw(siwInitiates), func(t *testing.T) {
			g := Start(t)
			l := newLink(t, g, LinkConfig{siwInitiates: siwInitiates, own: extsock.Config{NoCRC: true}})
			l.siw.Do("put hex=%x", "last words")
			l.siw.Do("do op=send len=10")
			l.siw.Do("disconnect")
			if c := l.completion(l.conn.RecvCQ()); c.Status != rdmap.StatusOK || string(l.recv[c.ID][:c.Len]) != "last words" {
				t.Errorf("this stack got %v", c)
			}
			ctx, cancel := context.WithTimeout(t.Context(), LinkLimit)
			defer cancel()
			c, err := l.conn.RecvCQ().Wait(ctx)
			if e := (*rdmap.TerminateError)(nil); err != nil || c.Status != rdmap.StatusFlushed || errors.As(c.Err, &e) {
				t.Errorf("a receive completes as %v, %v, want it flushed without a Terminate", c, err)
			}
			l.siw.Do("event name=disconnected")
			wantLog(t, g, "TERM", 0)
		})
	}
}
