package rdmap

import (
	"strings"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// listed are the errors of RDMAP and DDP that IANA lists (RFC 6580 §3.1, §3.2), by layer and error
// type. A local catastrophic error of RDMAP may have any code, and rddp uses one.
var listed = map[byte]string{
	0x00: "\x00",
	0x01: "\x00\x01\x02\x03\x04\x09\xff",
	0x02: "\x05\x06\x07\x08\x09\xff",
	0x10: "\x00",
	0x11: "\x00\x01\x02\x03\x04",
	0x12: "\x01\x02\x03\x04\x05\x06",
}

// unsent are the listed errors that rddp never sends: it always knows what is wrong with an STag,
// and no error concerns more than one stream.
var unsent = map[[2]byte]bool{{0x01, 0xff}: true, {0x02, 0x08}: true}

// goodSegments are one good segment of each message, and of Writes and Reads one for each thing
// that can be wrong with an STag.
func goodSegments(x *pair) [][]byte {
	r, _ := x.b.register(64, allAccess)
	read, _ := x.b.register(64, ddp.RemoteRead)
	write, _ := x.b.register(64, ddp.RemoteWrite)
	other, err := x.b.domain.Register(aligned(64), allAccess, 99)
	if err != nil {
		panic(err)
	}
	all := [][]byte{
		untagged(OpSend, 0, 1, make([]byte, 8)), untagged(OpSendSE, 0, 1, make([]byte, 8)),
		untagged(OpImmediate, 0, 1, make([]byte, 8)), untagged(OpImmediateSE, 0, 1, make([]byte, 8)),
		untagged(OpAtomicResponse, 3, 1, AtomicResponse{ID: 1}.AppendTo(nil)),
		untagged(OpTerminate, 2, 1, unhex("1100 c000 0016 c140 deadbe00 0000000000001000")),
		tagged(OpReadResponse, r.STag(), r.TO(), make([]byte, 8)),
	}
	for _, h := range []Handle{
		handle(r), handle(read), handle(write), handle(other), {STag: 0xDEADBE00}, {STag: r.STag(), TO: ^uint64(0)},
		{STag: r.STag(), TO: r.TO() + 63},
	} {
		invalidate := ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(h.STag), MSN: 1}
		all = append(all, tagged(OpWrite, h.STag, h.TO, make([]byte, 8)), invalidate.AppendTo(nil),
			untagged(OpReadRequest, 1, 1, ReadRequest{Size: 8, SourceSTag: h.STag, SourceTO: h.TO}.AppendTo(nil)),
			untagged(OpAtomicRequest, 1, 1, AtomicRequest{STag: h.STag, TO: h.TO}.AppendTo(nil)))
	}
	return all
}

// "a registry … of RDMAP Error … values" (RFC 6580 §3): whichever octet of a message is wrong, or
// missing, or too many, the Terminate that goes out has layer, error type and code from the list.
// Each error on the list, except those in unsent, goes out in some case.
//
// RDMAP-5040-4.8-3, RDMAP-6580-3.1-1, RDMAP-6580-3.2-1
func TestRFC6580_3_OnlyListedErrorsAreSent(t *testing.T) {
	sent := map[[2]byte]bool{}
	n := 0
	send := func(i, receives int, change func(u []byte) []byte) {
		x := newPair(t, params{})
		for range receives {
			x.b.recv(1, 32)
		}
		x.b.post(WorkRequest{Op: WorkFetchAdd})
		x.b.transmit()
		x.b.wire = nil
		u := change(goodSegments(x)[i])
		x.b.inject(u)
		x.b.transmit()
		for _, v := range x.b.wire {
			if v[1] != 0x47 {
				continue
			}
			kind, code := v[18], v[19]
			if strings.IndexByte(listed[kind], code) < 0 {
				t.Errorf("%x brings a Terminate with %02x, %02x", u, kind, code)
			}
			sent[[2]byte{kind, code}] = true
			n++
		}
	}
	count := len(goodSegments(newPair(t, params{})))
	for i := range count {
		u := goodSegments(newPair(t, params{}))[i]
		for at := range u {
			for _, flip := range []byte{1, 2, 8, 0x40, 0x80} {
				send(i, 1, func(u []byte) []byte { u[at] ^= flip; return u })
			}
			send(i, 1, func(u []byte) []byte { return u[:at] })
		}
		for more := range 64 {
			send(i, more%2, func(u []byte) []byte { return append(u, make([]byte, more)...) })
		}
	}
	send(0, 1, func([]byte) []byte { return nil })
	x := newPair(t, params{})
	x.b.qp.Fail(errTest)
	x.b.wantTerminate("0000 0000")
	sent[[2]byte{0, 0}] = true
	for kind, codes := range listed {
		for _, code := range []byte(codes) {
			if e := [2]byte{kind, code}; sent[e] == unsent[e] {
				t.Errorf("%02x, %02x is sent: %t", kind, code, sent[e])
			}
		}
	}
	t.Logf("%d Terminates", n)
}
