//go:build interop

package interop

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// lentLen is the length of the region for the faulty requests.
const lentLen = 8192

// codes are a Terminate's layer, error type and error code.
type codes struct{ layer, etype, code uint8 }

func (c codes) String() string {
	return fmt.Sprintf("%d/%d/%#02x (%v)", c.layer, c.etype, c.code, c.code16())
}

// code16 returns the three as one code.
func (c codes) code16() rdmap.TerminateCode {
	return rdmap.TerminateCode(uint16(c.layer)<<12 | uint16(c.etype)<<8 | uint16(c.code))
}

// codesOf splits a code.
func codesOf(c rdmap.TerminateCode) codes {
	return codes{uint8(c >> 12), uint8(c>>8) & 0xF, uint8(c)}
}

// wantTheirs checks that siw's Terminate has ended this stack's connection with err, that this
// stack has understood it, and that siw sent these octets of the Terminate Control, without the
// reserved one.
func (l *link) wantTheirs(err error, want codes, octets string) {
	l.t.Helper()
	var e *rdmap.TerminateError
	if !errors.As(err, &e) || !e.Remote {
		l.t.Fatalf("the connection ends with %v, want siw's Terminate", err)
	}
	got := codesOf(e.Terminate.Code)
	if got != want {
		l.t.Errorf("this stack understands siw's Terminate as %v, want %v", got, want)
	}
	if words := want.code16().String(); !strings.Contains(err.Error(), words) {
		l.t.Errorf("the error says %q, want %q in it", err, words)
	}
	if b := l.terminate(false); fmt.Sprintf("%x", b[:3]) != octets {
		l.t.Errorf("siw's Terminate begins %x, want %s", b[:3], octets)
	}
}

// wantOurs checks that this stack's connection has ended with err, and that it has sent a matching
// Terminate.
func (l *link) wantOurs(err error, want codes) {
	l.t.Helper()
	var e interface {
		TerminateCode() (layer, etype, code uint8)
	}
	te := (*rdmap.TerminateError)(nil)
	if errors.As(err, &te) && !te.Remote {
		err = te.Err
	}
	var found codes
	if de := (*ddp.Error)(nil); errors.As(err, &de) && de.Code != ddp.CodeULP {
		found = codes{1, uint8(de.Code >> 8), uint8(de.Code)}
	} else if errors.As(err, &e) {
		found.layer, found.etype, found.code = e.TerminateCode()
	} else if te != nil && !te.Remote { // RDMAP found the error
		found = codesOf(te.Terminate.Code)
	} else {
		l.t.Fatalf("the connection ends with %v, want an error that a Terminate stands for", err)
	}
	sent, perr := rdmap.ParseTerminate(l.terminate(true))
	if perr != nil {
		l.t.Fatal(perr)
	}
	if got := codesOf(sent.Code); got != want || found != want || sent.HostOrder {
		l.t.Errorf("this stack found %v and sent %v, want %v", found, got, want)
	}
}

// terminate returns the Terminate Header that one end has sent as its last message.
func (l *link) terminate(sent bool) []byte {
	l.t.Helper()
	list := l.seen.fpdus(sent)
	if len(list) == 0 || list[len(list)-1].opcode() != rdmap.OpTerminate {
		l.t.Fatalf("the last FPDU (sent by this stack: %t) is no Terminate: %v", sent, list)
	}
	return list[len(list)-1].octets[2+ddp.UntaggedHeaderLen:]
}

// flushed waits until a receive of this stack is flushed, and returns the reason.
func (l *link) flushed() error {
	l.t.Helper()
	c := l.completion(l.conn.RecvCQ())
	if c.Status == rdmap.StatusOK {
		l.t.Fatalf("a receive completes as %v, want it flushed", c)
	}
	return c.Err
}

// This stack makes forbidden requests, and siw ends the connection. This stack must understand
// siw's Terminate in spite of siw's bit order. siw's codes are not always the RFC's, see README.md.
func TestRddpTerminatedBySiw(t *testing.T) {
	// As the Initiator siw gets the CRC that it requires. As the Responder it follows this stack,
	// which wants none.
	Start(t).SetSiw(t, "mpa_crc_required=1", "fix_split_trailer=1") // siw's fault "split trailer"
	data := Pattern(ownSeed, 20000)
	at := func(l *link, b Region, stag uint32, off uint64, n int) rdmap.Handle {
		return rdmap.Handle{STag: ddp.STag(b.STag + stag), TO: b.TO + off, Len: uint32(n)}
	}
	write := func(stag uint32, off uint64, n int) func(*link, Region) rdmap.WorkRequest {
		return func(l *link, b Region) rdmap.WorkRequest {
			return rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data[:n], Remote: at(l, b, stag, off, n)}
		}
	}
	read := func(stag uint32, off uint64, n int) func(*link, Region) rdmap.WorkRequest {
		return func(l *link, b Region) rdmap.WorkRequest {
			return rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, n), Remote: at(l, b, stag, off, n)}
		}
	}
	send := func(n int) func(*link, Region) rdmap.WorkRequest {
		return func(*link, Region) rdmap.WorkRequest {
			return rdmap.WorkRequest{Op: rdmap.WorkSend, Data: data[:n]}
		}
	}
	for _, tt := range []struct {
		desc       string
		access     string // of siw's region; "" means rw
		prepare    string // a command to siw
		invalidate bool   // this stack invalidates siw's STag first
		recvs      string // of siw
		wr         func(*link, Region) rdmap.WorkRequest
		want       codes
		octets     string       // siw's, of the Terminate Control
		status     rdmap.Status // of this stack's request if it is a Read; others complete when sent
		placed     bool         // the segments before the faulty one reach siw's memory
	}{
		{desc: "Write, no such STag", wr: write(0x5500, 0, 100), want: codes{1, 1, 0}, octets: "110003"},
		{desc: "Write, deregistered STag", prepare: "dereg mr=b", wr: write(0, 0, 100), want: codes{1, 1, 0}, octets: "110003"},
		{desc: "Write, invalidated STag", invalidate: true, wr: write(0, 0, 100), want: codes{1, 1, 0}, octets: "110003"},
		{desc: "Write, no right", access: "r", wr: write(0, 0, 100), want: codes{1, 1, 0}, octets: "110003"},
		{desc: "Write, beyond the end", wr: write(0, 8100, 200), want: codes{1, 1, 1}, octets: "110103"},
		{desc: "Write, before the beginning", wr: write(0, 1<<64-1, 200), want: codes{1, 1, 1}, octets: "110103"},
		{desc: "Write of several segments, beyond the end", wr: write(0, 0, 20000), want: codes{1, 1, 1}, octets: "110103", placed: true},
		{desc: "Read, no such STag", wr: read(0x5500, 0, 100), want: codes{0, 1, 0}, octets: "100007", status: rdmap.StatusRemoteAccess},
		{desc: "Read, beyond the end", wr: read(0, 8100, 200), want: codes{0, 1, 1}, octets: "100107", status: rdmap.StatusRemoteAccess},
		{desc: "Send, no buffer", recvs: "none", wr: send(40), want: codes{1, 2, 2}, octets: "210203"},
		{desc: "Send, too long", recvs: "n=1 len=64", wr: send(500), want: codes{1, 2, 2}, octets: "210203"},
		{desc: "Send of several segments, too long", recvs: "n=1 len=4000", wr: send(20000), want: codes{1, 2, 2}, octets: "210203"},
	} {
		for _, siwInitiates := range []bool{false, true} {
			t.Run(tt.desc+"/"+roleOfSiw(siwInitiates), func(t *testing.T) {
				g := Start(t)
				l := newLink(t, g, LinkConfig{siwInitiates: siwInitiates, own: extsock.Config{NoCRC: true}, siwRecvs: tt.recvs})
				access := tt.access
				if access == "" {
					access = "rw"
				}
				b := l.siw.Region("b", lentLen, access)
				if tt.prepare != "" {
					l.siw.Do("%s", tt.prepare)
				}
				if tt.invalidate {
					l.do(rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Invalidate: ddp.STag(b.STag)})
					l.siw.Wait("rq", 1)
				}
				wr := tt.wr(l, b)
				if err := l.conn.Post(&wr); err != nil {
					t.Fatal(err)
				}
				l.wantTheirs(l.flushed(), tt.want, tt.octets)
				if tt.status != rdmap.StatusOK {
					if c := l.completion(l.conn.SendCQ()); c.Status != tt.status {
						t.Errorf("the request completes as %v, want status %v", c, tt.status)
					}
				}
				l.siw.Do("event name=disconnected")
				if got := l.siw.Dump("b", 0, 100); !tt.placed && strings.Trim(string(got), "\x00") != "" {
					t.Errorf("siw's memory has changed: %x", got)
				}
				wantLog(t, g, "sent TERM: ", 1)
			})
		}
	}
}

// The test writes FPDUs that no correct stack sends to the TCP connection below this stack. This
// stack gets siw's answer.
func TestRddpTerminatedBySiwForBadFPDUs(t *testing.T) {
	Start(t).SetSiw(t, "fix_split_trailer=1") // siw's fault "split trailer"
	payload := []byte("12345678")
	for _, tt := range []struct {
		desc   string
		ulpdu  func(r *raw, a Region) []byte
		want   codes
		octets string // siw's, of the Terminate Control
	}{
		{"Write: wrap", func(r *raw, a Region) []byte { return tagged(ctlWrite, a.STag, 1<<64-4, payload) }, codes{1, 0, 0}, "010003"},
		{"Write: DDP version", func(r *raw, a Region) []byte { return tagged(0xc240, a.STag, a.TO, payload) }, codes{1, 1, 4}, "110400"},
		{"Send: DDP version", func(r *raw, a Region) []byte { return untagged(0x4243, 0, 1, 0, payload) }, codes{1, 2, 6}, "210600"},
		{"Send: QN", func(r *raw, a Region) []byte { return untagged(ctlSend, 5, 1, 0, payload) }, codes{1, 2, 1}, "210103"},
		{"Send: MSN", func(r *raw, a Region) []byte { return untagged(ctlSend, 0, 2, 0, payload) }, codes{1, 2, 3}, "210303"},
		{"Send: MO", func(r *raw, a Region) []byte { return untagged(ctlSend, 0, 1, 4, payload) }, codes{1, 2, 4}, "210403"},
		{"Read: MSN", func(r *raw, a Region) []byte {
			return untagged(ctlReadReq, 1, 2, 0, readRequest(1, 0, 8, a.STag, a.TO))
		}, codes{1, 2, 3}, "210303"},
		{"Read Response that nobody asked for", func(r *raw, a Region) []byte { return tagged(ctlReadResp, a.STag, a.TO, payload) }, codes{1, 0, 0}, "010003"},
		{"ULPDU shorter than its header", func(r *raw, a Region) []byte { return tagged(ctlWrite, a.STag, a.TO, nil)[:10] }, codes{2, 0, 3}, "020300"},
		{"CRC", nil, codes{2, 0, 2}, "020200"},
		// Its octets, 20 05 00 and 20 06 00, are MPA's errors 5 and 6 in the RFC's order, which a
		// Responder never sends.
		{"RDMAP version", func(r *raw, a Region) []byte { return tagged(0xc180, a.STag, a.TO, payload) }, codes{0, 2, 5}, "200500"},
		{"opcode", func(r *raw, a Region) []byte { return untagged(0x4149, 0, 1, 0, payload) }, codes{0, 2, 6}, "200600"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			l := newLink(t, g, LinkConfig{})
			r := &raw{t: t, c: l.tcp, crc: true}
			var b []byte
			if tt.ulpdu == nil {
				b = r.fpdu(r.send(payload))
				b[len(b)-1] ^= 1
			} else {
				b = r.fpdu(tt.ulpdu(r, l.region))
			}
			if tt.want == (codes{2, 0, 3}) { // siw may first wait for the header
				b = append(b, r.fpdu(r.send(nil))...)
			}
			r.write(b) // all at once: siw may close the connection after the first FPDU
			l.wantTheirs(l.flushed(), tt.want, tt.octets)
			l.siw.Do("event name=disconnected")
			wantLog(t, g, "sent TERM: ", 1)
		})
	}
}

// In revision 1 this stack does not learn that siw's IRD is less than its ORD. siw ends the
// connection, with a Terminate unless it is sending an answer at that moment. Each Read still
// completes exactly once.
func TestRddpTooManyReads(t *testing.T) {
	const n, size = 16, 4000
	g := Start(t)
	l := newLink(t, g, LinkConfig{own: extsock.Config{Revision: 1, NoCRC: true, ORD: n}, siw: "ird=2 ord=2"})
	wrs := make([]rdmap.WorkRequest, n)
	for i := range wrs {
		wrs[i] = rdmap.WorkRequest{ID: uint64(i), Op: rdmap.WorkRead, Data: make([]byte, size), Remote: l.region.remote(i*size, size)}
	}
	if posted, err := l.conn.PostBatch(wrs); err != nil {
		t.Fatalf("request %d: %v", posted, err)
	}
	flushed := 0
	for i := range n {
		c := l.completion(l.conn.SendCQ())
		if c.ID != uint64(i) || c.Status == rdmap.StatusOK && flushed > 0 {
			t.Errorf("after %d flushed ones, completion %d is %v", flushed, i, c)
		}
		if c.Status != rdmap.StatusOK {
			flushed++
		} else if want := Pattern(siwSeed, n*size)[i*size:][:size]; !bytes.Equal(wrs[i].Data, want) {
			t.Errorf("Read %d brought something else", i)
		}
	}
	if flushed == 0 {
		t.Error("all Reads succeed")
	}
	err := l.flushed()
	var e *rdmap.TerminateError
	if t.Logf("%d Reads are flushed, the connection ends with %v", flushed, err); errors.As(err, &e) {
		l.wantTheirs(err, codes{0, 2, 7}, "200703")
	}
	l.siw.Do("event name=disconnected")
	wantLog(t, g, "init TERM: layer 0, type 2, code 7", 1)
}

// siw makes forbidden requests, and this stack ends the connection. siw reads the codes in its own
// bit order, with layer and error type exchanged.
func TestRddpTerminatesSiw(t *testing.T) {
	// CRC is on with siw as the Initiator only, see TestRddpTerminatedBySiw.
	Start(t).SetSiw(t, "mpa_crc_required=1", "fix_split_trailer=1") // siw's fault "split trailer"
	for _, tt := range []struct {
		desc       string
		access     ddp.Access // of this stack's region; 0 means both Reads and Writes
		deregister bool
		recvs      int    // this stack's; 0 means some, negative none
		recvLen    int    // 0 means longest
		command    string // siw's; STAG and TO stand for the region's, whose length is lentLen
		want       codes
		status     string // of siw's request; "" means any: a Write or Send completes when sent, or not at all
		placed     bool   // the segments before the faulty one reach this stack's memory
	}{
		{desc: "Write, no such STag", command: "do op=write len=100 stag=STAG+0x5500 to=TO", want: codes{1, 1, 0}},
		{desc: "Write, deregistered STag", deregister: true, command: "do op=write len=100 stag=STAG to=TO", want: codes{1, 1, 0}},
		{desc: "Write, invalidated STag", command: "post op=sendinv len=0 inv=STAG|do op=write len=100 stag=STAG to=TO", want: codes{1, 1, 0}},
		{desc: "Write, no right", access: ddp.RemoteRead, command: "do op=write len=100 stag=STAG to=TO", want: codes{1, 1, 0}},
		{desc: "Write, beyond the end", command: "do op=write len=200 stag=STAG to=TO+8100", want: codes{1, 1, 1}},
		{desc: "Write, before the beginning", command: "do op=write len=200 stag=STAG to=TO+0xffffffffffffffff", want: codes{1, 1, 1}},
		{desc: "Write of several segments, beyond the end", command: "do op=write len=20000 stag=STAG to=TO", want: codes{1, 1, 1}, placed: true},
		{desc: "Write, wrap", command: "do op=write len=200 stag=STAG to=0xfffffffffffffff0", want: codes{1, 1, 3}},
		{desc: "Read, no such STag", command: "do op=read len=100 stag=STAG+0x5500 to=TO", want: codes{0, 1, 0}, status: "wr_flush_err"},
		{desc: "Read, deregistered STag", deregister: true, command: "do op=read len=100 stag=STAG to=TO", want: codes{0, 1, 0}, status: "wr_flush_err"},
		{desc: "Read, no right", access: ddp.RemoteWrite, command: "do op=read len=100 stag=STAG to=TO", want: codes{0, 1, 2}, status: "wr_flush_err"},
		{desc: "Read, beyond the end", command: "do op=read len=200 stag=STAG to=TO+8100", want: codes{0, 1, 1}, status: "wr_flush_err"},
		{desc: "Read, wrap", command: "do op=read len=200 stag=STAG to=0xfffffffffffffff0", want: codes{0, 1, 4}, status: "wr_flush_err"},
		{desc: "Send, no buffer", recvs: -1, command: "do op=send len=40", want: codes{1, 2, 2}},
		{desc: "Send, too long", recvs: 1, recvLen: 64, command: "do op=send len=500", want: codes{1, 2, 5}},
		{desc: "Send of several segments, too long", recvs: 1, recvLen: 4000, command: "do op=send len=40000", want: codes{1, 2, 5}},
		{desc: "Send with Invalidate, no such STag", command: "do op=sendinv len=10 inv=STAG+0x5500", want: codes{0, 2, 9}},
	} {
		for _, siwInitiates := range []bool{false, true} {
			untilHeard(t, tt.desc+"/"+roleOfSiw(siwInitiates), func(t *testing.T) (heard bool) {
				g := Start(t)
				l := newLink(t, g, LinkConfig{siwInitiates: siwInitiates, own: extsock.Config{NoCRC: true}, ownRecvs: tt.recvs, ownRecvLen: tt.recvLen})
				access := tt.access
				if access == 0 {
					access = ddp.RemoteRead | ddp.RemoteWrite
				}
				memory := make([]byte, lentLen)
				b := l.register(memory, access)
				if tt.deregister {
					b.Deregister()
				}
				names := strings.NewReplacer("STAG", fmt.Sprint(uint32(b.Handle().STag)), "TO", fmt.Sprint(b.Handle().TO))
				var r Reply
				for c := range strings.SplitSeq(tt.command, "|") {
					r = l.siw.Try("%s", names.Replace(c))
				}
				if tt.status != "" {
					if c := r.Completions(); len(c) != 1 || c[0].Status != tt.status {
						t.Errorf("siw's request ended with %+v, want status %s", c, tt.status)
					}
				}
				l.siw.Do("event name=disconnected")
				err := l.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend})
				l.wantOurs(err, tt.want)
				if octets := memory[:100]; !tt.placed && strings.Trim(string(octets), "\x00") != "" {
					t.Errorf("this stack's memory has changed: %x", octets)
				}
				return logs(t, g, fmt.Sprintf("got TERMINATE. layer %d, type %d, code %d", tt.want.etype, tt.want.layer, tt.want.code))
			})
		}
	}
}

// untilHeard runs a test until siw has noticed our Terminate, at most five times. A fault of siw,
// seen twice under load: its own request ended with loc_qp_op_err, and it dropped the connection
// without having read the Terminate, which was on the wire. The checks of this stack apply each
// time.
func untilHeard(t *testing.T, name string, test func(t *testing.T) (heard bool)) {
	t.Helper()
	const tries = 5
	for try := 1; try <= tries; try++ {
		heard := false
		passed := t.Run(fmt.Sprintf("%s/try_%d", name, try), func(t *testing.T) { heard = test(t) })
		if heard || !passed {
			return
		}
	}
	t.Errorf("%s: siw has taken no notice of %d Terminates", name, tries)
}

// logs reports whether siw logs text once, within a second.
func logs(t *testing.T, g *Guest, text string) bool {
	t.Helper()
	for range 10 {
		n := 0
		for _, l := range g.Log(t) {
			n += strings.Count(l, text)
		}
		if n > 1 {
			t.Errorf("siw logged %q %d times, want 1", text, n)
		}
		if n > 0 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// An octet of siw's FPDU changes on the way: this stack ends the connection with a Terminate of
// MPA.
func TestRddpTerminatesSiwForBadCRC(t *testing.T) {
	Start(t).SetSiw(t, "mpa_crc_required=1", "fix_split_trailer=1") // siw's fault "split trailer"
	untilHeard(t, "siw is Initiator", func(t *testing.T) (heard bool) {
		g := Start(t)
		l := newLink(t, g, LinkConfig{siwInitiates: true, own: extsock.Config{}, damage: true})
		l.siw.Do("do op=send len=100")
		l.received()
		l.tcp.(*damaged).armed.Store(true)
		l.siw.Do("post op=send len=100")
		err := l.flushed()
		var me *mpa.Error
		if !errors.As(err, &me) || me.Code != mpa.CodeCRC {
			t.Errorf("the connection ends with %v, want MPA's CRC error", err)
		}
		l.siw.Do("event name=disconnected")
		l.wantOurs(l.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend}), codes{2, 0, uint8(mpa.CodeCRC)})
		return logs(t, g, "got TERMINATE. layer 0, type 2, code 2")
	})
}
