package nldev

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var testDevice = Device{
	Name: "rxe_rddp0", NodeType: ChannelAdapter, Protocol: "roce", GUID: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, Caps: 0x80, Interface: "eth0", InterfaceIndex: 3,
	Files: []File{
		{Type: "uverbs", Name: "uverbs0", Major: 231, Minor: 192, ABI: 2, OfDevice: true, Driver: 14},
		{Type: "rdma_cm", Name: "rdma_cm", Major: 10, Minor: 256 + 122, ABI: 4},
	},
}

func testObjects() []Object {
	return []Object{
		Context{Number: 1, PID: 77},
		PD{Number: 3, Context: 1, PID: 77, Users: 2},
		CQ{Number: 4, Context: 1, PID: 77, Users: 1, Entries: 255},
		MR{Number: 5, PD: 3, PID: 77, Len: 1 << 40},
		QP{Number: 0x102, PD: 3, PID: 77, Type: 2, State: 3, Connected: true, Peer: 0x55, RQPSN: 6, SQPSN: 7},
		QP{Number: 0x101, PD: 3, PID: 77, Type: 4, State: 1, SQPSN: 8},
		SRQ{Number: 9, PD: 3, PID: 77, QPs: []uint32{0x101, 0x102, 0x105}},
		ID{Number: 0, PID: 77, Space: 0x106, State: 8, Src: netip.MustParseAddrPort("127.0.0.1:7174")},
		ID{Number: 2, PID: 77, Space: 0x106, State: 5, QP: 0x102, QPType: 2, Src: netip.MustParseAddrPort("[::1]:5"), Dst: netip.MustParseAddrPort("[::1]:6")},
	}
}

// A testAttr is an attribute of a request.
type testAttr struct {
	kind  uint16
	value any // a uint32 or a string
}

// testRequest returns a message for NLDEV.
func testRequest(c command, flags uint16, attrs ...testAttr) []byte {
	var body []byte
	for _, a := range attrs {
		switch v := a.value.(type) {
		case int:
			body = append32(body, a.kind, uint32(v))
		case string:
			body = appendText(body, a.kind, v)
		case []byte:
			body = appendBytes(body, a.kind, v)
		}
	}
	b := native.AppendUint32(nil, uint32(headerLen+len(body)))
	b = native.AppendUint16(native.AppendUint16(b, clientNLDEV<<clientShift|uint16(c)), flagRequest|flags)
	return append(native.AppendUint32(native.AppendUint32(b, 42), 0), body...)
}

// describe returns answers as text: for each message the type, flags, and attributes by their
// number.
func describe(t *testing.T, all [][]byte) string {
	t.Helper()
	var lines []string
	for _, b := range all {
		for len(b) > 0 {
			h, m, rest, ok := parseMessage(b)
			if !ok || h.seq != 42 || native.Uint32(m[12:]) != 99 {
				t.Fatalf("no answer: %x", b)
			}
			b = rest
			switch body := m[headerLen:]; h.kind {
			case typeError:
				lines = append(lines, fmt.Sprintf("error %d +%d %x", int32(native.Uint32(body)), len(body)-4, h.flags))
			case typeDone:
				lines = append(lines, fmt.Sprintf("done %d", int32(native.Uint32(body))))
			default:
				lines = append(lines, fmt.Sprintf("%d/%d %x%s", h.kind>>clientShift, h.kind&0x3ff, h.flags, describeAttrs(t, body)))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// tables are the attributes that consist of others.
var tables = []uint16{
	attrSummary, attrSummaryEntry, attrQP, attrQPEntry, attrID, attrIDEntry, attrCQ, attrCQEntry, attrMR, attrMREntry, attrPD, attrPDEntry,
	attrContext, attrContextEntry, attrSRQ, attrSRQEntry,
}

func describeAttrs(t *testing.T, b []byte) string {
	t.Helper()
	var s strings.Builder
	for len(b) > 0 {
		n, kind := int(native.Uint16(b)), native.Uint16(b[2:])
		v := b[attrLen:n]
		switch {
		case slices.Contains(tables, kind):
			fmt.Fprintf(&s, " %d{%s }", kind, describeAttrs(t, v))
		case len(v) == 1:
			fmt.Fprintf(&s, " %d=%d", kind, v[0])
		case kind == attrDevName || kind == attrSummaryName || kind == attrProtocol || kind == attrInterfaceName || kind == attrCharDevName:
			fmt.Fprintf(&s, " %d=%q", kind, bytes.TrimSuffix(v, []byte{0}))
		case len(v) == 4:
			fmt.Fprintf(&s, " %d=%d", kind, native.Uint32(v))
		case len(v) == 8:
			fmt.Fprintf(&s, " %d=0x%x", kind, native.Uint64(v))
		case len(v) == 128:
			fmt.Fprintf(&s, " %d=%x", kind, bytes.TrimRight(v, "\x00"))
		default:
			t.Errorf("attribute %d has %d bytes", kind, len(v))
		}
		b = b[align(n):]
	}
	return s.String()
}

const handleText = ` 1=0 2="rxe_rddp0"`

// TestAnswer: the answers have the attributes that Linux gives them.
func TestAnswer(t *testing.T) {
	device := testAttr{attrDevIndex, 0}
	port := testAttr{attrPortIndex, 1}
	deviceText := handleText + ` 3=1 4=0x80 6=0x102030405060708 7=0x102030405060708 14=1 84=0 67="roce"`
	portText := handleText + ` 3=1 12=4 13=5 50=3 51="eth0"`
	qp1 := ` 3=1 21=257 60=3 28=77 24=8 26=4 27=1`
	qp2 := ` 3=1 21=258 60=3 28=77 22=85 23=6 24=7 25=0 26=2 27=3`
	for _, tt := range []struct {
		desc string
		in   []byte
		want string
	}{
		{"a device", testRequest(get, 0, device), "5/1 0" + deviceText},
		{"all devices", testRequest(get, flagDump), "5/1 2" + deviceText + "\ndone 0"},
		{"all devices, acknowledged", testRequest(get, flagDump|flagAck), "5/1 2" + deviceText + "\ndone 0"},
		{"no device", testRequest(get, 0), "error -22 +16 0"},
		{"another device", testRequest(get, 0, testAttr{attrDevIndex, 1}), "error -22 +24 0"},
		{"a port", testRequest(portGet, 0, device, port), "5/5 0" + portText},
		{"a port, acknowledged", testRequest(portGet, flagAck, device, port), "5/5 0" + portText + "\nerror 0 +16 100"},
		{"all ports", testRequest(portGet, flagDump, device), "5/5 2" + portText + "\ndone 0"},
		{"no port", testRequest(portGet, 0, device), "error -22 +24 0"},
		{"another port", testRequest(portGet, 0, device, testAttr{attrPortIndex, 2}), "error -22 +32 0"},
		{"all ports of no device", testRequest(portGet, flagDump), "done -22"},
		{"the system", testRequest(sysGet, 0), "5/6 0 66=1 93=1"},
		{"the device's file", testRequest(getCharDev, 0, device, testAttr{attrCharDevType, "uverbs"}), `5/15 0 73=14 72=0xe7c0 71=0x2 70="uverbs0"`},
		{"the file of rdma_cm", testRequest(getCharDev, flagDump, testAttr{attrCharDevType, "rdma_cm"}), `5/15 0 72=0x100a7a 71=0x4 70="rdma_cm"`},
		{"the device's file without a device", testRequest(getCharDev, 0, testAttr{attrCharDevType, "uverbs"}), "error -2 +28 0"},
		{"a file that there is not", testRequest(getCharDev, 0, device, testAttr{attrCharDevType, "umad"}), "error -2 +36 0"},
		{"a file of a port", testRequest(getCharDev, 0, device, port, testAttr{attrCharDevType, "umad"}), "error -22 +44 0"},
		{"the number of objects", testRequest(resGet, flagDump), "5/9 2" + handleText + ` 15{` +
			` 16{ 17="pd" 18=0x1 } 16{ 17="cq" 18=0x1 } 16{ 17="qp" 18=0x2 } 16{ 17="cm_id" 18=0x2 } 16{ 17="mr" 18=0x1 } 16{ 17="ctx" 18=0x1 } 16{ 17="srq" 18=0x1 } }` + "\ndone 0"},
		{"all queue pairs", testRequest(qpGet, flagDump, device), "5/10 2" + handleText + " 19{ 20{" + qp1 + " } 20{" + qp2 + " } }\ndone 0"},
		{"a queue pair", testRequest(qpGet, 0, device, port, testAttr{attrLQPN, 0x102}), "5/10 0" + handleText + qp2},
		{"no queue pair", testRequest(qpGet, 0, device, port, testAttr{attrLQPN, 0x103}), "error -2 +40 0"},
		{"a queue pair without a port", testRequest(qpGet, 0, device, testAttr{attrLQPN, 0x102}), "error -22 +32 0"},
		{"all ids", testRequest(idGet, flagDump, device, port), "5/11 2" + handleText + " 30{" +
			" 31{ 3=1 32=262 27=8 33=02001c067f000001 63=0 28=77 }" +
			" 31{ 3=1 21=258 26=2 32=262 27=5 33=0a0000050000000000000000000000000000000000000001 34=0a0000060000000000000000000000000000000000000001 63=2 28=77 } }\ndone 0"},
		{"all completion queues", testRequest(cqGet, flagDump, device), "5/12 2" + handleText + " 35{ 36{ 37=255 38=0x1 84=0 61=4 64=1 28=77 } }\ndone 0"},
		{"a completion queue", testRequest(cqGet, 0, device, testAttr{attrCQN, 4}), "5/12 0" + handleText + " 37=255 38=0x1 84=0 61=4 64=1 28=77"},
		{"all memory regions", testRequest(mrGet, flagDump, device), "5/13 2" + handleText + " 40{ 41{ 45=0x10000000000 62=5 60=3 28=77 } }\ndone 0"},
		{"all domains", testRequest(pdGet, flagDump, device), "5/14 2" + handleText + " 46{ 47{ 38=0x2 60=3 64=1 28=77 } }\ndone 0"},
		{"all contexts", testRequest(ctxGet, flagDump, device), "5/22 2" + handleText + " 86{ 87{ 64=1 28=77 } }\ndone 0"},
		{"all shared queues", testRequest(srqGet, flagDump, device), "5/23 2" + handleText +
			" 88{ 89{ 90=9 26=0 60=3 19{ 20{ 91=257 92=258 } 20{ 21=261 } } 28=77 } }\ndone 0"},
		{"counters of queue pairs", testRequest(statGet, flagDump, device, testAttr{attrStatRes, attrQP}), "done 0"},
		{"counters of the port", testRequest(statGet, 0, device, port), "error -22 +32 0"},
		{"a new name", testRequest(2, flagAck, device, testAttr{attrDevName, "other"}), "error -95 +36 0"},
		{"no command", testRequest(500, 0), "error -22 +16 0"},
		{"an attribute that is too short", testRequest(get, 0, testAttr{attrDevIndex, []byte{1, 2}}), "error -22 +24 0"},
		{"a text without an end", testRequest(getCharDev, 0, testAttr{attrCharDevType, []byte("uverbs")}), "error -22 +28 0"},
		{"an attribute of the future", testRequest(get, 0, testAttr{1000, []byte{1, 2, 3, 4, 5}}, device), "5/1 0" + deviceText},
	} {
		calls := 0
		got := describe(t, Answer(tt.in, Socket{Port: 99}, &testDevice, func() []Object { calls++; return testObjects() }))
		if got != tt.want || calls > 1 {
			t.Errorf("%s, %d calls:\n%s\nwant\n%s", tt.desc, calls, got, tt.want)
		}
	}
}

// TestMessages: a send may have more than one request, and ends at the first that has no header.
func TestMessages(t *testing.T) {
	one, other := testRequest(sysGet, 0), testRequest(sysGet, flagAck)
	for _, tt := range []struct {
		desc string
		in   []byte
		want string
	}{
		{"nothing", nil, ""},
		{"two", append(bytes.Clone(one), other...), "5/6 0 66=1 93=1\n5/6 0 66=1 93=1\nerror 0 +16 100"},
		{"one and a half", append(bytes.Clone(one), other[:15]...), "5/6 0 66=1 93=1"},
		{"a length that is too short", append([]byte{15, 0, 0, 0}, one[4:]...), ""},
		{"a length that is too long", append([]byte{17, 0, 0, 0}, one[4:]...), ""},
		{"a control message", append(bytes.Clone(one[:4]), append([]byte{1, 0, 5, 0}, one[8:]...)...), "error 0 +16 100"},
		{"no request", append(bytes.Clone(one[:6]), append([]byte{4, 0}, one[8:]...)...), "error 0 +16 100"},
		{"another client", append(bytes.Clone(one[:4]), append([]byte{1, 2 << 2}, one[6:]...)...), "error -22 +16 0"},
	} {
		if got := describe(t, Answer(tt.in, Socket{Port: 99}, &testDevice, testObjects)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.desc, got, tt.want)
		}
	}
	in := testRequest(get, 0, testAttr{attrDevIndex, 7})
	if got := describe(t, Answer(in, Socket{Port: 99, Capped: true}, &testDevice, testObjects)); got != "error -22 +16 100" {
		t.Errorf("with NETLINK_CAP_ACK: %s", got)
	}
}

// TestManyObjects: many objects need many messages, each of which fits into the buffer of any
// program.
func TestManyObjects(t *testing.T) {
	const n, most = 16384, 4096
	var objects []Object
	var odd []uint32
	for i := range uint32(n) {
		objects = append(objects, QP{Number: i, Type: 2, Connected: true})
		odd = append(odd, 2*i)
	}
	objects = append(objects, SRQ{QPs: odd})
	for _, c := range []command{qpGet, srqGet} {
		all := Answer(testRequest(c, flagDump, testAttr{attrDevIndex, 0}), Socket{Port: 99}, &testDevice, func() []Object { return objects })
		for _, b := range all {
			if len(b) > most {
				t.Fatalf("command %d: a message of %d bytes", c, len(b))
			}
		}
		text := describe(t, all)
		if got := strings.Count(text, " 20{"); c == qpGet && got != n {
			t.Errorf("%d queue pairs, want %d", got, n)
		}
	}
}

// TestManySharedQueues: an SRQ whose queue pairs fill a message is shown with all of them, whatever
// comes before it.
func TestManySharedQueues(t *testing.T) {
	const most = 4096
	var odd []uint32
	for i := range uint32(110) {
		odd = append(odd, 2*i)
	}
	for before := range 100 {
		var objects []Object
		for i := range before {
			objects = append(objects, SRQ{Number: uint32(i)})
		}
		objects = append(objects, SRQ{Number: 1000, QPs: odd})
		all := Answer(testRequest(srqGet, flagDump, testAttr{attrDevIndex, 0}), Socket{Port: 99}, &testDevice, func() []Object { return objects })
		for _, b := range all {
			if len(b) > most {
				t.Fatalf("%d queues before: a message of %d bytes", before, len(b))
			}
		}
		text := describe(t, all)
		if n, pairs := strings.Count(text, " 89{"), strings.Count(text, " 20{"); n != before+1 || pairs != len(odd) {
			t.Fatalf("%d queues before: %d queues and %d queue pairs, want %d and %d", before, n, pairs, before+1, len(odd))
		}
	}
}

// TestManyDumps: a program that asks for many dumps at once gets some of them, and errors.
func TestManyDumps(t *testing.T) {
	var objects []Object
	for i := range uint32(4096) {
		objects = append(objects, QP{Number: i, Type: 2, Connected: true})
	}
	in := bytes.Repeat(testRequest(qpGet, flagDump, testAttr{attrDevIndex, 0}), 64)
	n := 0
	all := Answer(in, Socket{Port: 99}, &testDevice, func() []Object { return objects })
	for _, b := range all {
		n += len(b)
	}
	if n > 2*longest || describe(t, all[len(all)-1:]) != "error -16 +24 0" {
		t.Errorf("%d bytes, and at last %s", n, describe(t, all[len(all)-1:]))
	}
}

// TestTruncations: no truncation of a request has an answer other than an error.
func TestTruncations(t *testing.T) {
	whole := testRequest(getCharDev, 0, testAttr{attrDevIndex, 0}, testAttr{attrCharDevType, "uverbs"})
	for n := headerLen; n < len(whole); n++ {
		b := bytes.Clone(whole[:n])
		native.PutUint32(b, uint32(n))
		all := Answer(b, Socket{Port: 99}, &testDevice, testObjects)
		if len(all) != 1 || native.Uint16(all[0][4:]) != typeError || int32(native.Uint32(all[0][headerLen:])) != -int32(syscall.EINVAL) {
			// The text's last bytes are padding.
			if text := headerLen + 8 + attrLen + len("uverbs\x00"); n < text {
				t.Errorf("%d bytes: %x", n, all)
			}
		}
	}
}

// FuzzAnswer: every answer consists of whole messages with whole attributes.
func FuzzAnswer(f *testing.F) {
	for c := range highest + 2 {
		f.Add(testRequest(c, flagAck, testAttr{attrDevIndex, 0}, testAttr{attrPortIndex, 1}, testAttr{attrLQPN, 0x102}))
		f.Add(testRequest(c, flagDump, testAttr{attrDevIndex, 0}))
	}
	f.Add(testRequest(getCharDev, 0, testAttr{attrCharDevType, "rdma_cm"}))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, b := range Answer(in, Socket{}, &testDevice, testObjects) {
			h, m, rest, ok := parseMessage(b)
			if !ok || len(rest) != 0 {
				t.Fatalf("%x", b)
			}
			if h.kind >= leastType {
				describeAttrs(t, m[headerLen:])
			}
		}
	})
}
