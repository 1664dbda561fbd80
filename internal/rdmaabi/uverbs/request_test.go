package uverbs

import (
	"bytes"
	"reflect"
	"testing"
)

// What a program makes is what the device parses, whose parsers are tested against bytes that are
// written down from the kernel's headers.
func TestRequests(t *testing.T) {
	mr := MemoryRegion{Start: 0x1000, Len: 77, VA: 0x2000, PD: 3, Access: LocalWrite | RemoteRead}
	cq := CQ{UserHandle: 9, CQE: 100, Channel: -1}
	qp := QP{UserHandle: 8, PD: 3, SendCQ: 4, RecvCQ: 5, Caps: Caps{1, 2, 3, 4, 0}, SignalAll: true, Type: RC}
	change := Change{Handle: 6, Mask: MaskState | MaskAccess, To: Attributes{State: Init, Access: RemoteWrite, Port: 1}}
	for _, tt := range []struct {
		desc  string
		in    []byte
		parse func(b []byte) (any, error)
		want  any
	}{
		{"REG_MR", mr.AppendTo(nil), func(b []byte) (any, error) { return ParseRegMR(b) }, mr},
		{"CREATE_CQ", cq.AppendTo(nil), func(b []byte) (any, error) { return ParseCreateCQ(b, false) }, cq},
		{"CREATE_QP", qp.AppendTo(nil), func(b []byte) (any, error) { return ParseCreateQP(b, false) }, qp},
		{"MODIFY_QP", change.AppendTo(nil), func(b []byte) (any, error) { return ParseModifyQP(b) }, change},
		{"DESTROY_QP", AppendAnswered(nil, 7, 0), func(b []byte) (any, error) { return ParseAnsweredHandle(b) }, uint32(7)},
	} {
		if got, err := tt.parse(tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.desc, got, err, tt.want)
		}
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
	d := Device{GUID: [8]byte{1}, MaxMRSize: 1 << 40, MaxQP: 1, MaxQPWR: 2, Caps: 3, MaxSGE: 4, MaxCQ: 5, MaxCQE: 6, MaxMR: 7, MaxPD: 8, MaxRead: 9, VendorID: 10, PartID: 11, Hardware: 12}
	if got, err := ParseDevice(AppendDevice(nil, &d, false)); err != nil || got != d {
		t.Errorf("device %+v, %v, want %+v", got, err, d)
	}
	c := Caps{1, 2, 3, 4, 5}
	if handle, qpn, got, err := ParseCreatedQP(AppendCreateQP(nil, 7, 8, c)); err != nil || handle != 7 || qpn != 8 || got != c {
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
	f.Add(AppendDevice(nil, &Device{}, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y uint32
		_ = ParseWords(b, &x, &y)
		_, _ = ParseDevice(b)
		_, _, _, _ = ParseCreatedQP(b)
		_, _, _ = ParseAsyncEvent(b)
		if m, err := ParseMapping(b); err == nil && (m.Size == 0 || m.Size > maxMapping) {
			t.Errorf("a queue of %d bytes", m.Size)
		}
	})
}
