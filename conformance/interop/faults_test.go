//go:build interop

package interop

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// The tests of this file show siw's known faults. They log whether a fault still exists, and fail
// if siw shows neither the known fault nor the behavior that the RFC requires.

// An FPDU that arrives right after siw's Reply may stay unread until more octets arrive: siw takes
// over the socket only after it has sent the Reply.
func TestSiwStall(t *testing.T) {
	g := Start(t)
	const n = 8
	stalls := 0
	for range n {
		p := g.Peer(t)
		p.Do("listen port=%d", rawPort)
		p.Send("request")
		p.Send("recv n=2 len=100")
		p.Send("accept")
		r := dialRaw(t, g)
		r.write(startup(requestKey, 0, 1, nil))
		r.read(20)
		r.write(r.fpdu(r.send([]byte("first"))))
		for range 3 {
			p.MustReply()
		}
		if !p.Try("wait q=rq ms=300").OK {
			stalls++
			r.write(r.fpdu(r.send([]byte("second"))))
			if c := p.Wait("rq", 1)[0]; string(c.Data) != "first" {
				t.Errorf("after more octets siw got %+v", c)
			}
		}
		p.Kill()
		_ = r.c.Close()
	}
	t.Logf("%d of %d first FPDUs lay unread", stalls, n)
}

// An FPDU whose pad and CRC arrive in two pieces has a bad CRC for siw, unless fix_split_trailer is
// set.
func TestSiwSplitTrailer(t *testing.T) {
	for _, fixed := range []string{"0", "1"} {
		for _, payload := range []string{"1234", "12345"} /* no pad, 3 octets of pad */ {
			for _, cut := range []int{0, 2, 4, 5} {
				t.Run(fmt.Sprintf("fixed %s, payload %d, last %d", fixed, len(payload), cut+1), func(t *testing.T) {
					g := Start(t)
					g.SetSiw(t, "fix_split_trailer="+fixed)
					r, p, _ := dialSiw(t, g, true)
					b := r.fpdu(r.send([]byte(payload)))
					r.write(b[:len(b)-cut-1])
					<-time.After(30 * time.Millisecond) // so that siw sees two pieces
					r.write(b[len(b)-cut-1:])
					reply := p.Try("wait q=rq")
					if reply.OK {
						if got := string(reply.Completions()[0].Data); got != payload {
							t.Errorf("siw got %q, want %q", got, payload)
						}
						return
					}
					if got := r.terminate(); fixed == "1" || got != "020200" && got != "reset" {
						t.Errorf("siw's Terminate begins %q", got)
					}
					t.Log("siw sees a bad CRC")
				})
			}
		}
	}
}

// More Reads at a time than siw's IRD (2 here) end the connection, with a Terminate unless siw is
// sending an answer at that moment.
func TestSiwTooManyReads(t *testing.T) {
	g := Start(t)
	r, p, a := dialSiw(t, g, true)
	var all []byte
	for i := range uint32(6) {
		all = append(all, r.fpdu(untagged(ctlReadReq, 1, i+1, 0, readRequest(1, 0, 4000, a.STag, a.TO)))...)
	}
	r.write(all)
	p.Do("event name=disconnected")
	wantLog(t, g, "init TERM: layer 0, type 2, code 7", 1)
	t.Logf("siw sent %d octets and closed", len(r.rest()))
}

// A FIN ends a connection at once, between FPDUs or within one, although it closes only one half.
func TestSiwFIN(t *testing.T) {
	for _, tt := range []struct {
		desc string
		cut  int
	}{
		{"between FPDUs", 0}, {"within the CRC", 2}, {"within the payload", 10}, {"within the header", 25},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			r, p, _ := dialSiw(t, g, true)
			b := r.fpdu(r.send([]byte("0123456789")))
			r.write(b[:len(b)-tt.cut])
			if err := r.c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			p.Do("event name=disconnected")
			if got := r.rest(); len(got) != 0 {
				t.Errorf("siw sent %x after the FIN", got)
			}
			wantStatus := "wr_flush_err"
			if tt.cut == 0 {
				wantStatus = "success"
			}
			c := p.Wait("rq", 1)[0]
			t.Logf("the receive under way ends with %q", c.Status)
			if (c.Status == "success") != (wantStatus == "success") {
				t.Errorf("the receive under way ends with %q, want %q", c.Status, wantStatus)
			}
		})
	}
}

// TestSiwAsInitiator shows how siw as the Initiator handles Replies.
func TestSiwAsInitiator(t *testing.T) {
	const (
		connected    = "established"
		refused      = "refused"        // the event says how; no Terminate
		terminateRTR = "terminate 0207" // MPA, no matching RTR
		terminateIRD = "terminate 0206" // MPA, insufficient IRD
	)
	for _, tt := range []struct {
		desc, reply, want string
		params            []string
		rtr               string // the first octets that siw sends: an FPDU's length, control and header
	}{
		{desc: "plain", reply: "10 02 0004 0004 0004", want: connected},
		{desc: "revision 1 instead of 2", reply: "00 01 0000", want: refused},
		{desc: "not enhanced", reply: "00 02 0000", want: refused},
		{desc: "rejected", reply: "30 02 0006 0004 0004 aabb", want: refused},
		{desc: "markers", reply: "90 02 0004 0004 0004", want: refused},
		{desc: "CRC that siw did not ask for", reply: "50 02 0004 0004 0004", want: connected},
		{desc: "no CRC though siw asked for it", reply: "10 02 0004 0004 0004", want: refused, params: []string{"mpa_crc_required=1"}},
		{desc: "ORD beyond siw's IRD", reply: "10 02 0004 0004 0064", want: connected},
		{desc: "ORD beyond all siw can do", reply: "10 02 0004 0004 1000", want: terminateIRD},
		{desc: "IRD below siw's ORD", reply: "10 02 0004 0001 0004", want: connected},
		{desc: "RTR Write", reply: "10 02 0004 8004 8004", want: connected, params: []string{"peer_to_peer=1"},
			rtr: "000e" + "c140" + "00000001" + "0000000000000000"},
		{desc: "RTR Read", reply: "10 02 0004 8004 4004", want: connected, params: []string{"peer_to_peer=1"},
			rtr: "002e" + "4141" + "00000000" + "00000001" + "00000001" + "00000000" +
				"00000000" + "0000000000000000" + "00000000" + "00000001" + "0000000000000000"},
		{desc: "RTR Send only", reply: "10 02 0004 c004 0004", want: terminateRTR, params: []string{"peer_to_peer=1"}},
		{desc: "RTR Read though siw offers Write only", reply: "10 02 0004 8004 4004", want: terminateRTR,
			params: []string{"peer_to_peer=1", "rtr_kinds=0x8000"}},
		{desc: "not peer-to-peer", reply: "10 02 0004 0004 0004", want: terminateRTR, params: []string{"peer_to_peer=1"}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, tt.params...)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p := g.Peer(t)
			p.Do("resolve addr=%s port=%d", HostIP, l.Addr().(*net.TCPAddr).Port)
			p.Send("connect")
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r := &raw{t: t, c: c}
			r.read(24)
			reply, err := hex.DecodeString(strings.ReplaceAll(tt.reply, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			r.write(append([]byte(replyKey), reply...))
			if tt.want == connected {
				p.MustReply()
				if tt.rtr != "" {
					if got := fmt.Sprintf("%x", r.read(len(tt.rtr)/2)); got != tt.rtr {
						t.Errorf("siw's RTR is %s, want %s", got, tt.rtr)
					}
				}
				return
			}
			answer := p.Reply()
			got := refused
			if b := r.rest(); len(b) > 22 {
				got = fmt.Sprintf("terminate %x", b[20:22])
			} else if len(b) > 0 {
				t.Errorf("siw sent %x", b)
			}
			if answer.OK || got != tt.want {
				t.Errorf("siw: %s, %s, want %s", answer, got, tt.want)
			}
		})
	}
}

// Closing a peer-to-peer connection that siw has accepted without ever sending the RTR may crash
// the guest's kernel. The guest ends then, or at the latest when the test makes it crash, and the
// harness reports it.
func TestSiwPanic(t *testing.T) {
	g := Boot(t, Config{Siw: []string{"mpa_version=2", "mpa_crc_required=1"}})
	if got, want := request(t, g), (requestFacts{flags: 0x50, revision: 2}); got != want {
		t.Errorf("the MPA Request of a guest booted with CRC required has %+v, want %+v", got, want)
	}
	address := g.Forward(t, rawPort) // now: a crash may come at any time
	attempt := 0
	for ; attempt < 30 && g.Crash() == nil; attempt++ {
		if err := closeWithoutRTR(t, g, address); err != nil {
			t.Logf("attempt %d: %v", attempt, err)
			select {
			case <-g.Ended():
			case <-time.After(commandLimit):
				t.Fatal("the guest does not answer, and does not end either")
			}
		}
	}
	if g.Crash() == nil {
		t.Logf("no crash after %d connections: crashing the kernel", attempt)
		_, _ = g.run(commandLimit, "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 10")
	}
	select {
	case <-g.Ended():
	case <-time.After(commandLimit):
		t.Fatal("the guest goes on after a crash of its kernel")
	}
	if err := g.Crash(); err == nil || !strings.Contains(err.Error(), "Kernel panic") {
		t.Errorf("the harness says of the crash: %v", err)
	} else {
		for line := range strings.Lines(err.Error()) {
			if strings.Contains(line, "RIP:") || strings.Contains(line, "BUG:") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	if _, err := g.run(commandLimit, "true"); err == nil || !strings.Contains(err.Error(), "Kernel panic") {
		t.Errorf("running a command in a crashed guest: %v", err)
	}
}

// closeWithoutRTR makes one such connection. Its error means that the guest no longer answers: the
// kernel crashes a moment after the connection was closed, possibly during the next call.
func closeWithoutRTR(t *testing.T, g *Guest, address string) error {
	process, err := g.StartProcess(t.Context(), "siwpeer", fmt.Sprintf("listen port=%d", rawPort), "request", "accept ms=200")
	if err != nil {
		return err
	}
	if err := g.awaitListener(rawPort); err != nil {
		return err
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(startup(requestKey, 0x10, 2, enhanced(0x8004, 0xc004))); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(rawLimit))
	if _, err := io.ReadFull(c, make([]byte, 24)); err != nil {
		return fmt.Errorf("reading siw's Reply: %w", err)
	}
	_ = c.Close()
	_, err = process.Wait()
	return err
}
