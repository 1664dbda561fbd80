package uverbs

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// The device parses the requests that a program makes. The device's parsers are tested against
// bytes that were written by hand from the kernel's headers.
func TestRequests(t *testing.T) {
	mr := MemoryRegion{Start: 0x1000, Len: 77, VA: 0x2000, PD: 3, Access: LocalWrite | RemoteRead}
	cq := CQ{UserHandle: 9, CQE: 100, Channel: -1}
	qp := QP{UserHandle: 8, PD: 3, SendCQ: 4, RecvCQ: 5, Caps: Caps{1, 2, 3, 4, 0}, SignalAll: true, Type: RC}
	change := Change{Handle: 6, Mask: MaskState | MaskAccess, To: attributesWant}
	for _, tt := range []struct {
		desc  string
		in    []byte
		parse func(b []byte) (any, error)
		want  any
	}{
		{"REG_MR", mr.AppendTo(nil), func(b []byte) (any, error) { return parseRegMR(b) }, mr},
		{"CREATE_CQ", cq.AppendTo(nil), func(b []byte) (any, error) { return parseCreateCQ(b, false) }, cq},
		{"CREATE_QP", qp.AppendTo(nil), func(b []byte) (any, error) { return parseCreateQP(b, false) }, qp},
		{"MODIFY_QP", change.AppendTo(nil), func(b []byte) (any, error) { return parseModifyQP(b) }, change},
		{"DESTROY_QP", AppendAnswered(nil, 7, 0), func(b []byte) (any, error) { return parseAnsweredHandle(b) }, uint32(7)},
	} {
		if got, err := tt.parse(tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.desc, got, err, tt.want)
		}
	}
}

// attributesWant has a different value in each attribute.
var attributesWant = Attributes{
	Address: Address{DGID: GID{15: 1}, Flow: 2, DLID: 3, SGIDIndex: 4, HopLimit: 5, TrafficClass: 6, SL: 7, SrcPath: 8, StaticRate: 9, Global: true, Port: 10},
	QKey:    11, RQPSN: 12, SQPSN: 13, DestQPN: 14, Access: RemoteWrite, PKey: 15, AltPKey: 16, State: Init, CurState: Reset, MTU: 17, PathMig: 18,
	MaxRead: 19, MaxDestRead: 20, MinRNRTimer: 21, Port: 22, Timeout: 23, Retry: 24, RNRRetry: 25, AltPort: 26, AltTimeout: 27,
}

// The answer to INIT_QP_ATTR is an ib_uverbs_qp_attr of the kernel's header.
func TestAttributes(t *testing.T) {
	in := `01000000 01000000 00000000 11000000 12000000 0b000000 0c000000 0d000000 0e000000 02000000` +
		`00000000000000000000000000000001 02000000 04 05 06 00 0300 07 08 09 01 0a 00` + strings.Repeat("00", 32+20) +
		`0f00 1000 00 00 13 14 15 16 17 18 19 1a 1b 0000000000`
	b, err := hex.DecodeString(strings.ReplaceAll(in, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	if mask, got, err := ParseAttributes(b); mask != MaskState || got != attributesWant || err != nil {
		t.Errorf("%v %+v, %v\nwant %+v", mask, got, err, attributesWant)
	}
	if got := AppendAttributes(nil, MaskState, &attributesWant); !bytes.Equal(got, b) {
		t.Errorf("%x\nwant %x", got, b)
	}
	for n := range b {
		if _, _, err := ParseAttributes(b[:n]); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
}

// The kernel's driver begins at the position that the entry states.
func TestWorkBegins(t *testing.T) {
	b := make([]byte, SendElementLen(1, 0))
	w := SendWR{Op: OpCmpSwap, Addr: 0x3000, RKey: 4, Operand: 5, Swap: 6}
	w.Put(b, []SGE{{0x1000, 8, 1}})
	if le.Uint64(b[152:]) != 0x3000 || le.Uint32(b[184:]) != 8 || le.Uint32(b[188:]) != 8 {
		t.Errorf("entry %x", b)
	}
	got, err := ParseSendWR(b)
	got.SGEs, w.Len = nil, 8
	if err != nil || !reflect.DeepEqual(got, w) {
		t.Errorf("%+v, %v, want %+v", got, err, w)
	}
	r := make([]byte, RecvElementLen(1))
	PutRecvWR(r, 1, []SGE{{0x1000, 8, 1}})
	if le.Uint32(r[16:]) != 8 || le.Uint32(r[20:]) != 8 {
		t.Errorf("receive %x", r)
	}
}

func TestIoctl(t *testing.T) {
	v := Invocation{Command: CreateQP, In: Span{0x1000, 56}, Out: Span{0x2000, 32}, DriverOut: Span{0x3000, 16}}
	b := AppendIoctl(nil, &v, DriverRXE)
	h, rest, err := ParseHeader(b)
	if err != nil || h.Len != len(b) || h.Method != InvokeWrite || b[16] != DriverRXE {
		t.Fatalf("header %+v, %v", h, err)
	}
	got, err := ParseInvocation(rest, h.NumAttrs)
	v.hasCommand, v.hasCore = true, true
	if err != nil || got != v {
		t.Errorf("%+v, %v, want %+v", got, err, v)
	}
	probe, err := ParseInvocation(AppendIoctl(nil, &Invocation{Command: QueryDevice}, DriverRXE)[HeaderLen:], 1)
	if err != nil || !probe.IsProbe() {
		t.Errorf("the probe is %+v, %v", probe, err)
	}
}

func TestWorkRequests(t *testing.T) {
	list := []SGE{{0x1000, 5, 1}, {0x2000, 7, 2}}
	b := bytes.Repeat([]byte{0xff}, int(SendElementLen(2, 0)))
	w := SendWR{ID: 9, Op: OpWrite, Flags: Signaled, Addr: 0x3000, RKey: 4}
	w.Put(b, list)
	got, err := ParseSendWR(b)
	if err != nil || got.Len != 12 {
		t.Fatalf("%+v, %v", got, err)
	}
	check := func(b []byte) {
		t.Helper()
		for _, want := range list {
			s, rest, ok := ParseSGE(b)
			if !ok || s != want {
				t.Errorf("%+v, want %+v", s, want)
			}
			b = rest
		}
		if len(b) != 0 {
			t.Errorf("%d bytes behind the list", len(b))
		}
	}
	check(got.SGEs)
	got.SGEs, w.Len = nil, 12
	if !reflect.DeepEqual(got, w) {
		t.Errorf("%+v, want %+v", got, w)
	}
	b = bytes.Repeat([]byte{0xff}, int(RecvElementLen(2)))
	PutRecvWR(b, 11, list)
	r, err := ParseRecvWR(b)
	if err != nil || r.ID != 11 {
		t.Fatalf("%+v, %v", r, err)
	}
	check(r.SGEs)
}

func TestProgramParses(t *testing.T) {
	d := Device{GUID: [8]byte{1}, MaxMRSize: 1 << 40, MaxQP: 1, MaxQPWR: 2, Caps: 3, MaxSGE: 4, MaxReadSGE: 13, Atomics: 14, MaxCQ: 5, MaxCQE: 6, MaxMR: 7, MaxPD: 8, MaxRead: 9, VendorID: 10, PartID: 11, Hardware: 12}
	if got, err := ParseDevice(appendDevice(nil, &d, false)); err != nil || got != d {
		t.Errorf("device %+v, %v, want %+v", got, err, d)
	}
	c := Caps{1, 2, 3, 4, 5}
	if handle, qpn, got, err := ParseCreatedQP(appendCreateQP(nil, 7, 8, c)); err != nil || handle != 7 || qpn != 8 || got != c {
		t.Errorf("QP %d %d %+v, %v", handle, qpn, got, err)
	}
	m := Mapping{4096, 8192}
	if got, err := ParseMapping(m.AppendTo(nil)); err != nil || got != m {
		t.Errorf("mapping %+v, %v", got, err)
	}
	for _, bad := range []Mapping{{0, 0}, {0, maxMapping + 1}, {1 << 62, 4096}} {
		if got, err := ParseMapping(bad.AppendTo(nil)); err == nil {
			t.Errorf("mapping %+v of %+v", got, bad)
		}
	}
	if h, e, err := ParseAsyncEvent(AppendAsyncEvent(nil, 5, EventQPFatal)); err != nil || h != 5 || e != EventQPFatal {
		t.Errorf("event %d of %d, %v", e, h, err)
	}
}

// FuzzAnswers: no answer makes a parser panic.
func FuzzAnswers(f *testing.F) {
	f.Add(appendDevice(nil, &Device{}, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y uint32
		_ = ParseWords(b, &x, &y)
		_, _ = ParseDevice(b)
		_, _, _, _ = ParseCreatedQP(b)
		_, _, _ = ParseAsyncEvent(b)
		_, _, _ = ParseAttributes(b)
		if m, err := ParseMapping(b); err == nil && (m.Size == 0 || m.Size > maxMapping) {
			t.Errorf("a queue of %d bytes", m.Size)
		}
	})
}
