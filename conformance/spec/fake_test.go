package spec

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe/simtoe"
)

// A fake is an incorrect peer. It has one connection.
type fake func(f *fakeConn)

// A fakeConn is a fake's end of a connection.
type fakeConn struct {
	net.Conn
	part Part
	crc  bool
	msn  uint32
	over <-chan struct{} // closed when the test is over
}

// frame reads a startup frame; ok is false at the end.
func (f *fakeConn) frame() (fr frame, ok bool) {
	b := make([]byte, frameLen)
	if _, err := io.ReadFull(f, b); err != nil {
		return fr, false
	}
	fr = frame{key: string(b[:16]), flags: b[16], revision: b[17], private: make([]byte, min(int(binary.BigEndian.Uint16(b[18:])), 4096))}
	_, err := io.ReadFull(f, fr.private)
	return fr, err == nil
}

// startup runs MPA startup and accepts anything as a frame.
func (f *fakeConn) startup(r Record) bool {
	ours := frame{key: keyReply, flags: flagC, revision: 1, private: r.AppendTo(nil)}
	if f.part == Initiator {
		ours.key = keyRequest
		f.Write(ours.octets())
	}
	theirs, ok := f.frame()
	if !ok {
		return false
	}
	f.crc = (theirs.flags|ours.flags)&flagC != 0
	if f.part == Responder {
		if theirs.isEnhanced() {
			ours.flags, ours.revision, ours.private = ours.flags|flagS, 2, append(enhanced(depths(8, 8)), ours.private...)
		}
		f.Write(ours.octets())
		return true
	}
	f.send(opSend, []byte("hello"))
	return true
}

func (f *fakeConn) put(g segment) { f.Write(fpdu{ulpdu: g.octets()}.appendTo(nil, 0, f.crc, false)) }

func (f *fakeConn) send(op byte, payload []byte) {
	f.msn++
	f.put(untagged(op, qnSend, f.msn, payload))
}

// next reads an FPDU and checks nothing.
func (f *fakeConn) next() (g segment, ok bool) {
	var head [2]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return g, false
	}
	n := int(binary.BigEndian.Uint16(head[:]))
	body := make([]byte, n+(-(n+2)&3)+4)
	if _, err := io.ReadFull(f, body); err != nil {
		return g, false
	}
	g, _ = parseSegment(body[:n])
	return g, true
}

// lends is the record of a peer that has everything.
var lends = Record{
	Flags: 1<<len(flagNames) - 1, Region: Region{7, 64, 4096}, ReceiveSize: 4096, ReadOnly: Region{8, 64, 4096}, WriteOnly: Region{9, 64, 4096},
	Startup: time.Second,
}

// silent sends nothing and does not close.
func silent(f *fakeConn) {
	io.Copy(io.Discard, f)
	<-f.over
}

// credulous is a peer that accepts everything. It echoes each segment without a T bit as it
// arrives, and answers each Read and atomic with zeros.
func credulous(f *fakeConn) {
	if !f.startup(lends) {
		return
	}
	for msn := uint32(0); ; {
		g, ok := f.next()
		switch {
		case !ok:
			return
		case g.tagged():
		case g.op() == opReadRequest && len(g.payload) >= 28:
			n := min(int(be32(g.payload[12:])), 4096)
			f.put(tagged(opReadResponse, be32(g.payload), be64(g.payload[4:]), make([]byte, n)))
		case g.op() == opAtomicRequest && len(g.payload) >= 8:
			msn++
			f.put(untagged(opAtomicResponse, qnAtomic, msn, append(append([]byte(nil), g.payload[4:8]...), make([]byte, 8)...)))
		default:
			f.send(opSend, g.payload)
		}
	}
}

// against asks one fake, and returns the results by ID.
func against(t *testing.T, part Part, peer fake, sections ...string) map[string]Result {
	t.Helper()
	return profiled(t, part, peer, nil, sections...)
}

// profiled is against with a profile.
func profiled(t *testing.T, part Part, peer fake, profile *Profile, sections ...string) map[string]Result {
	t.Helper()
	results := make(map[string]Result)
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		report, err := Run(t.Context(), Config{Part: part, Profile: profile, Sections: sections, Open: func(context.Context) (net.Conn, error) {
			ours, theirs := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			go func() {
				defer theirs.Close()
				peer(&fakeConn{Conn: theirs, part: part, over: over})
			}()
			return ours, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			results[r.ID] = r
		}
	})
	return results
}

// A silent peer passes no case.
func TestEachCaseCanFail(t *testing.T) {
	for _, part := range []Part{Responder, Initiator} {
		for id, r := range against(t, part, silent) {
			if r.Status != StatusFail {
				t.Errorf("%s, %v: %s %s with a peer that is silent", id, part, r.Status, r.Reason)
			}
		}
	}
}

// mild are the cases that a peer passes if it accepts everything and its memory is all zeros.
var mild = strings.Fields(`
5040/4.1/reserved-bits 5040/4.1/version-0 5040/5.2.1/length-0 5040/5.2.1/length-0-of-no-stag 5040/5.3/send
5040/5.3/send-with-se 5040/5.3/write-before-invalidate 5041/4.1/reserved-bits 5041/5.2/write-of-length-0
5041/5.2/zero-length 5041/7.1/no-buffer 5044/4.1/lengths 5044/4.1/long-fpdu 5044/4.1/many-in-one-write 5044/4.1/octet-by-octet
5044/4.1/pad-ignored 5044/4.1/pad-of-zero 5044/4.1/split-anywhere 5044/7.1.1/crc-wanted
5044/7.1.1/no-private-data 5044/7.1.1/private-data-512 5044/7.1.1/r-bit-in-request 5044/7.1.1/reply-crc-wanted
5044/7.1.1/reply-private-data-512 5044/7.1.1/reply-reserved-bits 5044/7.1.1/request-format
5044/7.1.1/reserved-bits 5044/7.1.1/revision-1 5044/7.1.2/cut-reply 5044/7.1.2/cut-request
5044/7.1.2/first-fpdu-glued 5044/7.1.2/octet-by-octet 5044/7.1.2/reply-in-two-parts
5044/7.1.2/reply-octet-by-octet 5044/7.1.2/silent-until-first-fpdu 5044/7.2/fin 5044/7.2/fin-behind-send
5044/7.2/fin-behind-startup 5044/7.2/many-connections 5044/8/cut-fpdu 5044/8/reset 5044/8/reset-in-startup 6581/10/enhanced 6581/10/revision-1
6581/10/revision-2-plain 6581/6/private-data-512 6581/6/reserved-bits 6581/6/s-in-revision-1
6581/9.1/ird-16-ord-2 6581/9.1/ird-16382-ord-16382 6581/9.2/client-server 7306/6.2/immediate
7306/6.2/immediate-with-se 7306/6.3/among-sends
`)

// A peer that accepts everything passes no case with an error in it. The mild cases pass, which
// shows that the fake itself works.
func TestErrorsMustBeFound(t *testing.T) {
	for _, part := range []Part{Responder, Initiator} {
		for id, r := range against(t, part, credulous) {
			want := StatusFail
			if slices.Contains(mild, id) {
				want = StatusPass
			}
			if r.Status != want && r.Status != StatusSkip {
				t.Errorf("%s, %v: %s, want %s; %s", id, part, r.Status, want, r.Got)
			}
		}
	}
}
