package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// These tests repeat faults of other implementations; conformance/cves.md lists them all.

// startupReply answers an Initiator's Request with b, in two pieces.
func startupReply(t *testing.T, s net.Conn, first, second []byte) {
	t.Helper()
	if _, err := rawpeer.ReadFrame(s); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{first, second} {
		if len(b) == 0 { // c may be closed by now, and no Write succeeds
			continue
		}
		if _, err := s.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCVE_2022_50136_ReplyInTwoSegments: siw told its user twice of an MPA Reply that came in two
// TCP segments, and refused one that the first FPDU was glued to. Here the Reply is cut at every
// octet, with an FPDU behind it: startup is over once, and the message arrives.
func TestCVE_2022_50136_ReplyInTwoSegments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reply := mpa.Frame{Reply: true, Enhanced: true, Revision: 2, CRC: true, IRD: 4, ORD: 4, PrivateData: []byte("told once")}.AppendTo(nil)
		stream := append(reply, rawpeer.FPDUs(mpa.NewSender(mpa.Agreement{CRC: true}), untagged(rdmap.OpSend, 0, 1, 0, 9))...)
		for cut := 1; cut < len(stream); cut++ {
			a, s := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			c := extsock.NewConn(a, true, &extsock.Config{Messages: true})
			switched := make(chan error, 1)
			go func() { switched <- c.EnableDDP(timeLimit(t), nil) }()
			startupReply(t, s, stream[:cut], stream[cut:])
			if err := <-switched; err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if string(c.ConnectionState().PeerPrivateData) != "told once" || modeOf(c) != "DDP" {
				t.Errorf("cut at %d: private data %q, mode %v", cut, c.ConnectionState().PeerPrivateData, modeOf(c))
			}
			c.SetReadDeadline(prototest.Deadline(t))
			if n, err := c.Read(make([]byte, 100)); n != 9 || err != nil {
				t.Fatalf("cut at %d: Read = %d, %v", cut, n, err)
			}
			s.Close()
			c.Close()
		}
	})
}

// badRequests returns streams that are not an MPA Request, or only a part of one.
func badRequests() (all [][]byte) {
	good := mpa.Frame{Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: 1, PrivateData: []byte("x")}.AppendTo(nil)
	for i := range 16 { // the key
		b := bytes.Clone(good)
		b[i] ^= 0x20
		all = append(all, b)
	}
	for _, rev := range []byte{0, 3, 0x80, 0xFF} {
		b := bytes.Clone(good)
		b[17] = rev
		all = append(all, b)
	}
	for _, n := range []uint16{513, 0x8000, 0xFFFF, 3, 0} { // PD_Length: too long, and too short for IRD and ORD
		b := bytes.Clone(good)
		b[18], b[19] = byte(n>>8), byte(n)
		all = append(all, b)
	}
	all = append(all, mpa.Frame{Reply: true, Revision: 2, Enhanced: true, CRC: true}.AppendTo(nil))
	for n := range len(good) { // cut short
		all = append(all, good[:n:n])
	}
	return all
}

// TestCVE_2026_74345_MalformedRequest: siw dropped its last reference to a connection with a
// malformed MPA Request, and then used it; CVE-2023-52513: it closed such a one and its listener
// was gone. Here a malformed Request ends the switch with an error, whichever way it was asked for;
// the connection can be asked again, and closed, twice, with the listener closed before.
func TestCVE_2026_74345_MalformedRequest(t *testing.T) {
	for i, bad := range badRequests() {
		for _, ask := range []bool{false, true} {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c, err := acceptConn(l)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			s.Write(bad)
			s.(*net.TCPConn).CloseWrite()
			if ask {
				_, err = c.ReceiveRequest(timeLimit(t))
			} else {
				err = c.EnableDDP(timeLimit(t), nil)
			}
			if err == nil || modeOf(c) == "DDP" {
				t.Fatalf("Request %d, %x: error %v, mode %v", i, bad, err, modeOf(c))
			}
			if err := c.EnableDDP(timeLimit(t), nil); err == nil {
				t.Errorf("Request %d: the second EnableDDP succeeds", i)
			}
			if _, err := c.Register(make([]byte, 8), ddp.RemoteRead); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("Request %d: Register: %v", i, err)
			}
			c.Close()
			c.Close()
			s.Close()
		}
	}
}

// TestCVE_2022_48725_FailedStartupLeavesNothing: siw leaked references when it could not create a
// queue pair. Here a startup that fails in every way leaves no Region in a shared Protection
// Domain, no goroutine and no request.
func TestCVE_2022_48725_FailedStartupLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		replies := map[string][]byte{
			"no reply":        nil,
			"not MPA":         []byte("220 mail.example.com ESMTP, and so on"),
			"half a reply":    mpa.Frame{Reply: true, Enhanced: true, Revision: 2, CRC: true}.AppendTo(nil)[:11],
			"a rejection":     mpa.Frame{Reply: true, Reject: true, Enhanced: true, Revision: 2, CRC: true}.AppendTo(nil),
			"another request": mpa.Frame{Enhanced: true, Revision: 2, CRC: true}.AppendTo(nil),
		}
		for desc, reply := range replies {
			domain := new(ddp.Domain)
			a, s := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			c := extsock.NewConn(a, true, &extsock.Config{Domain: domain})
			r := register(t, c, make([]byte, 64), ddp.RemoteWrite)
			if err := c.PostRecv(rdmap.RecvRequest{ID: 7, Buf: make([]byte, 8)}); err != nil {
				t.Fatal(err)
			}
			switched := make(chan error, 1)
			go func() { switched <- c.EnableDDP(timeLimit(t), nil) }()
			startupReply(t, s, reply, nil)
			s.Close()
			if err := <-switched; err == nil {
				t.Errorf("%s: startup succeeds", desc)
			}
			c.Close()
			if d, err := c.RecvCQ().Wait(timeLimit(t)); err != nil || d.ID != 7 || d.Status == rdmap.StatusOK {
				t.Errorf("%s: the receive completes as %v, %v", desc, d, err)
			}
			if _, err := domain.Check(r.Handle().STag, r.Handle().TO, 8, 0, 0); err == nil {
				t.Errorf("%s: the Region is still there", desc)
			}
		}
	})
}

// TestCVE_2022_50666_PeerClosesDuringClose: siw used a queue pair after it was freed, where the
// peer closed while it was being destroyed. Here both sides close at the same time, with work under
// way, in many rounds: each request completes exactly once, and nothing is left.
func TestCVE_2022_50666_PeerClosesDuringClose(t *testing.T) {
	rounds := 50
	if testmode.Full {
		rounds = 5000
	}
	domain := new(ddp.Domain)
	for range rounds {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true}}, side{cfg: extsock.Config{Messages: true, Domain: domain}})
		r := register(t, cr, make([]byte, 64), ddp.RemoteRead|ddp.RemoteWrite)
		posted := 0
		for range 4 {
			if err := postWrite(ci, r.Handle(), make([]byte, 64)); err == nil {
				posted++
			}
			if err := postRead(ci, r.Handle(), make([]byte, 64)); err == nil {
				posted++
			}
		}
		var wg sync.WaitGroup
		for _, c := range []*extsock.Conn{ci, cr, ci, cr} {
			wg.Add(1)
			go func() { defer wg.Done(); c.Close() }()
		}
		wg.Wait()
		ctx := timeLimit(t)
		for range posted {
			if _, err := ci.SendCQ().Wait(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := ci.SendCQ().Len(); n != 0 {
			t.Fatalf("%d Completions too many", n)
		}
		if _, err := domain.Check(r.Handle().STag, r.Handle().TO, 8, 0, 0); err == nil {
			t.Fatal("the Region is still there")
		}
	}
}

// TestCVE_2026_64321_BacklogIsFull: nvmet leaked what waited when the backlog was full, siw when
// the listener closed. Here connections that nobody accepts end with the listener.
func TestCVE_2026_64321_BacklogIsFull(t *testing.T) {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	var peers []net.Conn
	for range 20 {
		s, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.Write(mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil))
		peers = append(peers, s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range peers {
		s.SetReadDeadline(prototest.Deadline(t))
		if _, err := io.Copy(io.Discard, s); !errors.Is(err, syscall.ECONNRESET) { // some have got their Reply
			t.Errorf("a connection that nobody accepted is left open: %v", err)
		}
	}
}
