package rdmap

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// If octets parse, AppendTo writes them again unchanged, except for reserved bits.
func FuzzParse(f *testing.F) {
	for _, v := range []string{vReadRequest, vFetchAdd, vCmpSwap, vAtomicResponse, vZeroRead} {
		f.Add(unhex(v)[18:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(name string, n int, again, rest []byte, err error) {
			t.Helper()
			if err != nil {
				if len(b) >= n && name != "Atomic Request" {
					t.Errorf("%s: %v for %d octets", name, err, len(b))
				}
				return
			}
			want := bytes.Clone(b[:n])
			if name == "Atomic Request" {
				copy(want, []byte{0, 0, 0, want[3] & 0x0F}) // the reserved bits
			}
			if !bytes.Equal(again, want) || len(rest) != len(b)-n {
				t.Errorf("%s: %x is written as %x with %d octets left", name, b, again, len(rest))
			}
		}
		read, rest, err := ParseReadRequest(b)
		check("Read Request", ReadRequestLen, read.AppendTo(nil), rest, err)
		atomic, rest, err := ParseAtomicRequest(b)
		check("Atomic Request", AtomicRequestLen, atomic.AppendTo(nil), rest, err)
		response, rest, err := ParseAtomicResponse(b)
		check("Atomic Response", AtomicResponseLen, response.AppendTo(nil), rest, err)
		h, rest, err := ParseHandle(b)
		check("handle", HandleLen, h.AppendTo(nil), rest, err)
	})
}

// Any octets either fail or give a Terminate that is the same after it is encoded and parsed again.
func FuzzTerminate(f *testing.F) {
	for _, v := range []string{
		vTermInvalidSTag, vTermReadSTag, vTermCatastrophic, vTermTooLong, vTermCRC,
	} {
		f.Add(unhex(v)[18:])
	}
	f.Add(unhex("10 01 07 00 0000 4141 00000000 00000001 00000008 00000000 0a0b0c01 0000000000002000 00000010 12345601 0000000000001000"))
	f.Add(unhex("11 00 03 00 0008 c140 deadbe00 0000000000001000"))
	f.Add(unhex("02 02 00 00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseTerminate(b)
		if err != nil {
			return
		}
		if got.Code.String() == "" {
			t.Errorf("ParseTerminate(%x) has no text", b)
		}
		octets := got.appendTo(nil)
		want := got
		want.HostOrder = false
		// A Terminate without headers whose code no RFC defines may be siw's form of a defined one.
		again, err := ParseTerminate(octets)
		if err != nil || !again.HostOrder && !reflect.DeepEqual(again, want) {
			t.Errorf("ParseTerminate(%x) = %+v; after a second trip %+v, %v", b, got, again, err)
		}
		if again.HostOrder && got.M {
			t.Errorf("ParseTerminate(%x) takes our own order for siw's", octets)
		}
	})
}

// Whatever segments arrive: no panic, memory outside the registered memory is untouched, and every
// posted request completes exactly once. data is a list of segments, each after an octet with its
// length. Some octets of each segment are made to fit, so that not all segments fail at the first
// check.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func FuzzQPInput(f *testing.F) {
	for _, vectors := range [][]string{
		{vSend, vReadRequest, vFetchAdd, vImmediate}, {vReadResponse, vAtomicResponse}, {vTermReadSTag},
		{vSendInvalidate}, {vWrite, vZeroWrite, vZeroSend, vCmpSwap},
	} {
		var data []byte
		for _, v := range vectors {
			u := unhex(v)
			data = append(append(data, byte(len(u))), u...)
		}
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, extensions bool) {
		keys := rand.NewChaCha8([32]byte{}) // so that a crash can be repeated
		x := newPair(silent{}, params{noExtensions: !extensions, ird: 2, ord: 2, domain: &ddp.Domain{Random: keys}})
		guard := bytes.Repeat([]byte{0xEE}, 64)
		memory := bytes.Repeat([]byte{0xEE}, 192)
		r, err := x.a.domain.Register(memory[64:128], allAccess, x.a.stream())
		if err != nil {
			t.Fatal(err)
		}
		sink := bytes.Repeat([]byte{0xEE}, 144)
		x.a.recv(1, 16)
		x.a.recv(2, 16)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink[64:80]})
		second := WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 8)}
		if extensions {
			second = WorkRequest{ID: 2, Op: WorkFetchAdd}
		}
		x.a.post(second)
		x.a.post(WorkRequest{ID: 3, Op: WorkSend})
		x.a.transmit()
		e := x.a.qp.sq.at(0) // +checklocksignore: no other goroutine is at work
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			u := bytes.Clone(data[1 : 1+n])
			data = data[1+n:]
			aim(u, r, e)
			x.a.inject(u)
			x.a.transmit()
		}
		x.a.qp.Abort(errTest)
		if n := len(done(x.a.sendCQ)); n != 3 {
			t.Errorf("%d of 3 requests completed", n)
		}
		if n := len(done(x.a.recvCQ)); n != 2 {
			t.Errorf("%d of 2 receives completed", n)
		}
		for _, b := range [][]byte{memory[:64], memory[128:], sink[:64], sink[80:]} {
			if !bytes.Equal(b, guard[:len(b)]) {
				t.Error("octets outside of registered memory were changed")
			}
		}
		if got := regions(x.a.domain); got > 1 {
			t.Errorf("%d regions are registered, want at most the user's", got)
		}
	})
}

// aim replaces the vectors' STags and TOs by those of real regions.
func aim(u []byte, r *ddp.Region, e *sendEntry) {
	replace := func(vector string, stag ddp.STag, to uint64) {
		old := [4]byte([]byte(vector))
		for at := 0; ; {
			i := bytes.Index(u[at:], old[:])
			if i < 0 {
				return
			}
			at += i
			h := Handle{STag: stag, TO: to}.AppendTo(nil)
			copy(u[at:at+4], h[8:12])
			if at += 4; len(u) >= at+8 {
				copy(u[at:at+6], h[:6]) // the two low octets remain the fuzzer's
			}
		}
	}
	replace("\x12\x34\x56\x01", r.STag(), r.TO())
	replace("\x0a\x0b\x0c\x01", e.sinkSTag, e.sinkTO)
}
