package uverbs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// unhex returns the bytes of an annotated dump: hexadecimal digits, and comments after "//".
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "//")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// These commands were written by hand from the kernel's headers. Every truncation of one must be
// refused.
var commands = []struct {
	desc  string
	in    string
	parse func(b []byte) (any, error)
	want  any
}{
	{
		"REG_MR", `
		0000000000000000 // response
		0010000000000000 0020000000000000 0000ff7f00000000 // start, length, hca_va
		05000000 0f000000 // pd, access`,
		func(b []byte) (any, error) { return parseRegMR(b) },
		MemoryRegion{Start: 0x1000, Len: 0x2000, VA: 0x7fff0000, PD: 5, Access: LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic},
	},
	{
		"REREG_MR", `
		0000000000000000 07000000 05000000 // response, handle, flags
		0010000000000000 0020000000000000 0030000000000000 05000000 01000000`,
		func(b []byte) (any, error) { return parseReregMR(b) },
		MemoryRegion{Handle: 7, Flags: ReregTranslation | ReregAccess, Start: 0x1000, Len: 0x2000, VA: 0x3000, PD: 5, Access: LocalWrite},
	},
	{
		"ALLOC_MW", `0000000000000000 05000000 02000000`,
		func(b []byte) (any, error) { return parseAllocMW(b) },
		MemoryWindow{PD: 5, Type: 2},
	},
	{
		"CREATE_CQ", `0000000000000000 efbeadde00000000 64000000 00000000 ffffffff 00000000`,
		func(b []byte) (any, error) { return parseCreateCQ(b, false) },
		CQ{UserHandle: 0xdeadbeef, CQE: 100, Channel: -1},
	},
	{
		"CREATE_CQ, extended", `efbeadde00000000 64000000 01000000 09000000 00000000 02000000 00000000`,
		func(b []byte) (any, error) { return parseCreateCQ(b, true) },
		CQ{UserHandle: 0xdeadbeef, CQE: 100, Vector: 1, Channel: 9, Flags: 2},
	},
	{
		"CREATE_QP", `0000000000000000 0100000000000000 // response, user handle
		05000000 06000000 07000000 08000000 // pd, CQs, SRQ
		10000000 20000000 03000000 04000000 40000000 // caps
		01 02 01 00`,
		func(b []byte) (any, error) { return parseCreateQP(b, false) },
		QP{UserHandle: 1, PD: 5, SendCQ: 6, RecvCQ: 7, SRQ: 8, Caps: Caps{16, 32, 3, 4, 64}, SignalAll: true, Type: RC, HasSRQ: true},
	},
	{
		"CREATE_SRQ", `0000000000000000 0100000000000000 05000000 10000000 02000000 03000000`,
		func(b []byte) (any, error) { return parseCreateSRQ(b) },
		SRQ{UserHandle: 1, PD: 5, MaxWR: 16, MaxSGE: 2, Limit: 3},
	},
	{
		"MODIFY_SRQ", `05000000 02000000 10000000 03000000`,
		func(b []byte) (any, error) { return parseModifySRQ(b) },
		SRQChange{Handle: 5, Mask: SRQLimit, MaxWR: 16, Limit: 3},
	},
	{
		"DEREG_MR", `05000000`,
		func(b []byte) (any, error) { return parseHandle(b) },
		uint32(5),
	},
	{
		"DESTROY_CQ", `0000000000000000 05000000`,
		func(b []byte) (any, error) { return parseAnsweredHandle(b) },
		uint32(5),
	},
	{
		"QUERY_PORT", `0000000000000000 01`,
		func(b []byte) (any, error) { return parsePort(b) },
		uint8(1),
	},
}

func TestCommands(t *testing.T) {
	for _, tt := range commands {
		full := unhex(t, tt.in)
		got, err := tt.parse(full)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.desc, got, err, tt.want)
		}
		for n := range full {
			if _, err := tt.parse(full[:n]); !errors.Is(err, ErrShort) {
				t.Errorf("%s: %d of %d bytes: %v", tt.desc, n, len(full), err)
			}
		}
	}
}

func TestModifyQP(t *testing.T) {
	in := unhex(t, `
		00000000000000000000ffff0a000001 // dgid
		44332211 0500 0000 // flow label, dlid
		01 40 07 03 02 05 01 01 // sgid index, hop limit, traffic class, sl, source path, rate, global, port
		0000000000000000000000000000000000000000000000000000000000000000 // alternate path
		09000000 81911200 // handle, mask: to RTR
		01000000 02000000 03000000 04000000 0f000000 // qkey, rq_psn, sq_psn, dest_qpn, access
		0000 0000 02 01 05 00 // pkeys, state, current state, mtu, migration
		01 10 11 0c 01 0e 07 06 00 00 0000`)
	c, err := parseModifyQP(in)
	want := Change{Handle: 9, Mask: MaskState | MaskAddress | MaskMTU | MaskDestQPN | MaskRQPSN | MaskMaxDestRead | MaskMinRNRTimer, To: Attributes{
		Address: Address{
			DGID: GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}, Flow: 0x11223344, DLID: 5, SGIDIndex: 1, HopLimit: 64, TrafficClass: 7, SL: 3,
			SrcPath: 2, StaticRate: 5, Global: true, Port: 1,
		},
		QKey: 1, RQPSN: 2, SQPSN: 3, DestQPN: 4, Access: 15, State: RTR, CurState: Init, MTU: 5, SQDNotify: true, MaxRead: 16, MaxDestRead: 17, MinRNRTimer: 12,
		Port: 1, Timeout: 14, Retry: 7, RNRRetry: 6,
	}}
	if err != nil || c != want {
		t.Errorf("got  %+v, %v\nwant %+v", c, err, want)
	}
	if c.Check(RC, Init) != nil || c.Check(RC, RTR) == nil || c.Check(RC, Reset) == nil || c.Check(UD, Init) == nil {
		t.Error("the change is allowed in the wrong states")
	}
	c.Mask &^= MaskMaxDestRead | MaskMinRNRTimer // only RC has them
	if c.Check(UC, Init) != nil || c.Check(RC, Init) == nil || c.Check(UC, RTR) == nil {
		t.Error("the change of a UC QP is allowed in the wrong states")
	}
	c.Mask |= MaskMaxDestRead | MaskMinRNRTimer
	if c.Check(UC, Init) == nil {
		t.Error("a UC QP has attributes of RC")
	}
	// QUERY_QP returns the values that were set.
	var a Attributes
	c.Apply(&a)
	if a.SQDNotify {
		t.Error("the event of SQD is wanted, although the mask does not name it")
	}
	a.State, a.Draining = RTR, true
	out := appendQueryQP(nil, &QPState{a, Caps{1, 2, 3, 4, 5}, true})
	if len(out) != 128 || !bytes.Equal(out[:32], in[:32]) || out[108] != byte(RTR) || le.Uint32(out[96:]) != 4 || out[115] != 12 || out[112] != 1 || out[122] != 1 {
		t.Errorf("QUERY_QP returns %x", out)
	}
	if out[114] != 17 || out[113] != 0 { // the mask has no max_rd_atomic
		t.Errorf("QUERY_QP returns %d and %d Reads", out[113], out[114])
	}
}

// TestTransitions: for each pair of states, the change with the attributes that it needs is
// allowed, and each change without one of them is not.
func TestTransitions(t *testing.T) {
	for kind := range transitions {
		testTransitions(t, kind)
	}
}

func testTransitions(t *testing.T, kind QPType) {
	for from := Reset; from <= Err; from++ {
		for to := State(0); to < 10; to++ {
			x, known := transitions[kind][[2]State{from, to}]
			c := Change{Mask: MaskState | x.need, To: Attributes{State: to}}
			if want := known || to == Reset || to == Err && from != Reset; (c.Check(kind, from) == nil) != want {
				t.Errorf("%v from %v to %v: allowed: %v", kind, from, to, !want)
			}
			for bit := Mask(2); bit < MaskDestQPN; bit <<= 1 {
				less := c
				less.Mask &^= bit
				if x.need&bit != 0 && less.Check(kind, from) == nil {
					t.Errorf("%v from %v to %v without 0x%x: allowed", kind, from, to, uint32(bit))
				}
				more := c
				more.Mask |= bit
				more.To.CurState = from
				if known && to != Reset && to != Err && (more.Check(kind, from) == nil) != ((x.need|x.may|MaskCurState)&bit != 0) {
					t.Errorf("%v from %v to %v with 0x%x: allowed: %v", kind, from, to, uint32(bit), more.Check(kind, from))
				}
			}
		}
	}
}

func TestInvocation(t *testing.T) {
	in := unhex(t, `
		4800 0000 0000 0300 0000000000000000 08000000 00000000 // header: 72 bytes, 3 attributes
		0200 0800 0100 0000 0900000000000000 // command
		0000 2800 0100 0000 0010000000000000 // core in: 40 bytes at 0x1000
		0100 0c00 0100 0000 0020000000000000 // core out: 12 bytes at 0x2000`)
	h, rest, err := ParseHeader(in)
	if err != nil || h != (Header{72, InvokeWrite, 3}) {
		t.Fatalf("header %+v, %v", h, err)
	}
	v, err := ParseInvocation(rest, h.NumAttrs)
	if err != nil || v.Command != RegMR || v.In != (Span{0x1000, 40}) || v.Out != (Span{0x2000, 12}) || v.IsProbe() {
		t.Errorf("invocation %+v, %v", v, err)
	}
	for n := range in {
		if h, rest, err := ParseHeader(in[:n]); err == nil {
			if _, err := ParseInvocation(rest, h.NumAttrs); err == nil {
				t.Errorf("%d of %d bytes were accepted", n, len(in))
			}
		}
	}
	// libibverbs asks this before anything else.
	probe, err := ParseInvocation(unhex(t, `0200 0800 0100 0000 0100000000000000`), 1)
	if err != nil || !probe.IsProbe() {
		t.Errorf("the probe is %+v, %v", probe, err)
	}
	if b, ok := (Span{0x0807060504030201, 5}).Inline(); !ok || !bytes.Equal(b, []byte{1, 2, 3, 4, 5}) {
		t.Errorf("inline bytes %x, %v", b, ok)
	}
}

func TestCompletionRoundTrip(t *testing.T) {
	w := WC{ID: 1 << 40, Status: FlushErr, Op: WCRecvImm, Len: 77, Immediate: [4]byte{1, 2, 3, 4}, QPN: 5, SrcQPN: 6, Flags: WCHasImm, Packet: PacketIPv4}
	b := bytes.Repeat([]byte{0xff}, CQElementLen)
	w.Put(b)
	if got, err := ParseWC(b); got != w || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, w)
	}
	if b[8] != 5 || b[12] != 129 || b[20] != 77 || b[24] != 1 || b[28] != 5 || b[32] != 6 || b[36] != 2 || b[46] != 1 || b[48] != 0xff {
		t.Errorf("the entry is %x", b)
	}
}

func TestAnswerLengths(t *testing.T) {
	for _, tt := range []struct {
		desc string
		got  []byte
		want int
	}{
		{"QUERY_DEVICE", appendDevice(nil, &Device{}, false), 176},
		{"QUERY_DEVICE, extended", appendDevice(nil, &Device{}, true), 304},
		{"QUERY_PORT", appendPort(nil, 1), 40},
		{"CREATE_QP", appendCreateQP(nil, 1, 2, Caps{}), 32},
		{"a mapping", Mapping{}.AppendTo(nil), 16},
		{"an asynchronous event", AppendAsyncEvent(nil, 1, EventLimit), asyncEventLen},
	} {
		if len(tt.got) != tt.want {
			t.Errorf("%s has %d bytes, want %d", tt.desc, len(tt.got), tt.want)
		}
	}
}

func TestPaging(t *testing.T) {
	d := Device{Paging: Paging{Implicit: true, RC: PagingSharedReceive | PagingSend, UC: PagingWrite, UD: PagingReceive}}
	b := appendDevice(nil, &d, true)
	if want := unhex(t, `0300000000000000 21000000 04000000 02000000 00000000`); !bytes.Equal(b[184:208], want) {
		t.Errorf("%x, want %x", b[184:208], want)
	}
}

// FuzzCommands: no input makes a parser panic.
func FuzzCommands(f *testing.F) {
	for _, tt := range commands {
		f.Add(unhex(f, tt.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for cmd := range executors {
			if out, driverOut, err := Execute(&testHandler{}, cmd, b, b); err != nil && (out != nil || driverOut != nil) {
				t.Errorf("%v fails and has an answer", cmd)
			}
		}
		if c, err := parseModifyQP(b); err == nil {
			for s := Reset; s <= Err; s++ {
				_ = c.Check(RC, s)
			}
			var a Attributes
			c.Apply(&a)
			_ = appendQueryQP(nil, &QPState{Attributes: a})
		}
	})
}

// FuzzInvocation: no ioctl makes a parser panic, and inline input is no longer than its attribute.
func FuzzInvocation(f *testing.F) {
	f.Add(make([]byte, 72))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := ParseHeader(b)
		if err != nil {
			return
		}
		v, err := ParseInvocation(rest, h.NumAttrs)
		if err != nil {
			return
		}
		if p, ok := v.In.Inline(); ok && len(p) > 8 {
			t.Errorf("%d inline bytes", len(p))
		}
		_ = v.Command.String()
	})
}

// FuzzWorkRequests: no entry of a ring makes a parser panic, and no list is longer than the entry.
func FuzzWorkRequests(f *testing.F) {
	f.Add(make([]byte, 512))
	f.Fuzz(func(t *testing.T, b []byte) {
		if w, err := ParseSendWR(b); err == nil {
			if len(w.SGEs) > len(b) || w.Flags&Inline != 0 && uint32(len(w.SGEs)) != w.Len {
				t.Errorf("a list of %d bytes in an entry of %d", len(w.SGEs), len(b))
			}
			_ = w.Op.String()
			_ = WCOpOf(w.Op)
		}
		if w, err := ParseRecvWR(b); err == nil && len(w.SGEs) > len(b) {
			t.Errorf("a list of %d bytes in an entry of %d", len(w.SGEs), len(b))
		}
		_, _ = ParseWC(b)
	})
}
