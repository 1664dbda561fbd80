package ucma

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// unhex parses hexadecimal digits with spaces and comments.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	s = regexp.MustCompile(`//[^\n]*|\s`).ReplaceAllString(s, "")
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// zeros returns n zeros as hexadecimal digits.
func zeros(n int) string { return strings.Repeat("00", n) }

// v4 and v6 are addresses with ports as programs write them.
const v4 = `0200 1d12 7f000001 0000000000000000`

var (
	v6    = `0a00 0050 00000000 20010db8000000000000000000000001 00000000`
	addr4 = Address{AddrPort: netip.MustParseAddrPort("127.0.0.1:7442")}
	addr6 = Address{AddrPort: netip.MustParseAddrPort("[2001:db8::1]:80")}
)

// param is a ConnParam with the private data "abc".
var param = `07000000 00000000 616263` + zeros(253) + `03 01 04 05 00 07 06 01`

var paramWant = ConnParam{QPN: 7, PrivateData: []byte("abc"), SRQ: true, Responder: 4, Initiator: 5, RetryCount: 7, RNRetry: 6, Valid: true}

// commands are the inputs of all commands, with the numbers of the kernel's header.
var inputs = []struct {
	desc, in string
	parse    func(b []byte) (any, error)
	want     any
}{
	{
		"CREATE_ID", `efbeadde00000000 0010000000000000 0601 02 0000000000`,
		func(b []byte) (any, error) { return ParseCreateID(b) },
		IDRequest{UID: 0xdeadbeef, Response: 0x1000, PortSpace: TCP, QPType: 2},
	},
	{
		"DESTROY_ID", `0010000000000000 05000000 00000000`,
		func(b []byte) (any, error) { return ParseAnswered(b) },
		Numbers{Response: 0x1000, ID: 5},
	},
	{
		"QUERY", `0010000000000000 05000000 02000000`,
		func(b []byte) (any, error) { return ParseAnswered(b) },
		Numbers{Response: 0x1000, ID: 5, Other: QueryGID},
	},
	{
		"LISTEN", `05000000 80000000`,
		func(b []byte) (any, error) { return ParsePlain(b) },
		Numbers{ID: 5, Other: 128},
	},
	{
		"DISCONNECT", `05000000`,
		func(b []byte) (any, error) { return ParseDisconnect(b) },
		uint32(5),
	},
	{
		"GET_EVENT", `0010000000000000`,
		func(b []byte) (any, error) { return ParseGetEvent(b) },
		uint64(0x1000),
	},
	{
		"SET_OPTION", `0010000000000000 05000000 00000000 01000000 04000000`,
		func(b []byte) (any, error) { return ParseSetOption(b) },
		Option{Value: 0x1000, ID: 5, Level: LevelID, Name: OptionReuse, Len: 4},
	},
	{
		"BIND_IP", `0000000000000000` + v6 + `05000000`,
		func(b []byte) (any, error) { return ParseBindIP(b) },
		BindRequest{ID: 5, Addr: addr6},
	},
	{
		"BIND", `05000000 1000 0000` + v4 + zeros(112),
		func(b []byte) (any, error) { return ParseBind(b) },
		BindRequest{ID: 5, Addr: addr4},
	},
	{
		"BIND to InfiniBand's family", `05000000 3000 0000 1b00` + zeros(126),
		func(b []byte) (any, error) { return ParseBind(b) },
		BindRequest{ID: 5, Addr: Address{IB: true}},
	},
	{
		"RESOLVE_IP", zeros(28) + v4 + zeros(12) + `05000000 e8030000`,
		func(b []byte) (any, error) { return ParseResolveIP(b) },
		Resolution{ID: 5, Dst: addr4},
	},
	{
		"RESOLVE_ADDR", `05000000 e8030000 1c00 1c00 00000000` + v6 + zeros(100) + v6 + zeros(100),
		func(b []byte) (any, error) { return ParseResolveAddr(b) },
		Resolution{ID: 5, Src: addr6, Dst: addr6},
	},
	{
		"CONNECT", param + `05000000 00000000`,
		func(b []byte) (any, error) { return ParseConnect(b) },
		ConnRequest{ID: 5, Param: paramWant},
	},
	{
		"ACCEPT", `efbeadde00000000` + param + `05000000 00000000`,
		func(b []byte) (any, error) { return ParseAccept(b) },
		ConnRequest{UID: 0xdeadbeef, ID: 5, Param: paramWant},
	},
	{
		"REJECT", `05000000 03 1c 0000 616263` + zeros(253),
		func(b []byte) (any, error) { return ParseReject(b) },
		Rejection{ID: 5, Reason: 28, PrivateData: []byte("abc")},
	},
	{
		"JOIN_IP_MCAST", `0010000000000000 efbeadde00000000` + v4 + zeros(12) + `05000000`,
		func(b []byte) (any, error) { return ParseJoinIP(b) },
		Join{Response: 0x1000, UID: 0xdeadbeef, ID: 5, Addr: addr4},
	},
	{
		"JOIN_MCAST", `0010000000000000 efbeadde00000000 05000000 1c00 0100` + v6 + zeros(100),
		func(b []byte) (any, error) { return ParseJoin(b) },
		Join{Response: 0x1000, UID: 0xdeadbeef, ID: 5, Flags: JoinSendOnly, Addr: addr6},
	},
}

func TestCommands(t *testing.T) {
	for _, tt := range inputs {
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
		if len(full) > MaxIn {
			t.Errorf("%s has %d bytes, and MaxIn is %d", tt.desc, len(full), MaxIn)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for _, in := range []string{
		`0500` + zeros(126),                         // a family that does not exist
		`05000000 0a00 0000 0200` + zeros(126),      // IPv4 in 10 bytes
		`05000000 ff00 0000` + v4 + zeros(112),      // longer than its memory
		`05000000 0100 0000` + v4 + zeros(112),      // shorter than a family
		`05000000 1000 0000 0a00 0050` + zeros(124), // IPv6 in 16 bytes
	} {
		b := unhex(t, in)
		if len(b) < 136 {
			b = append(unhex(t, `05000000 8000 0000`), b...)
		}
		if r, err := ParseBind(b); err == nil {
			t.Errorf("%s: %+v", in, r)
		}
	}
}

func TestHeader(t *testing.T) {
	h, rest, err := ParseHeader(unhex(t, `07000000 0800 1000 aabb`))
	if h != (Header{Listen, 8, 16}) || !bytes.Equal(rest, []byte{0xaa, 0xbb}) || err != nil {
		t.Errorf("%+v, %x, %v", h, rest, err)
	}
	for n := range HeaderLen {
		if _, _, err := ParseHeader(make([]byte, n)); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if !JoinMcast.Exists() || Command(commands).Exists() || JoinMcast.String() != "JOIN_MCAST" || Command(99).String() != "command 99" {
		t.Error("the commands have other numbers")
	}
}

// TestAnswers compares answers with the values that a program would read at the offsets of the
// kernel's header.
func TestAnswers(t *testing.T) {
	e := Event{UID: 1, ID: 2, Type: Rejected, Status: -111, Param: paramWant}
	b := e.AppendTo(nil)
	if len(b) != 336 || le.Uint64(b) != 1 || le.Uint32(b[8:]) != 2 || le.Uint32(b[12:]) != 8 || int32(le.Uint32(b[16:])) != -111 ||
		le.Uint32(b[20:]) != 7 || string(b[28:31]) != "abc" || b[284] != 3 || b[286] != 4 || b[287] != 5 {
		t.Errorf("event %x", b)
	}
	long := Event{Param: ConnParam{PrivateData: make([]byte, 300)}}
	if b := long.AppendTo(nil); len(b) != 336 || b[284] != 255 {
		t.Errorf("private data that is too long: %d bytes, length %d", len(b), b[284])
	}
	e = Event{Datagram: &DatagramParam{QPN: 7, QKey: QKey, GID: addr6.Addr().As16(), Source: 2, PrivateData: make([]byte, 300)}}
	if b := e.AppendTo(nil); len(b) != 336 || le.Uint32(b[20:]) != 7 || le.Uint32(b[24:]) != QKey || [16]byte(b[28:]) != addr6.Addr().As16() || b[48] != 2 || b[49] != 64 ||
		b[57] != 1 || b[58] != 1 || b[316] != 255 {
		t.Errorf("event of datagrams %x", b)
	}
	r := Route{GUID: [8]byte{2, 0, 0, 0, 0, 0, 0, 1}, Src: addr4.AddrPort, Dst: addr6.AddrPort}
	b = r.AppendAddr(nil)
	if len(b) != 280 || b[0] != 2 || b[8] != 1 || le.Uint16(b[12:]) != 16 || le.Uint16(b[14:]) != 28 || !bytes.Equal(b[16:32], unhex(t, v4)) ||
		!bytes.Equal(b[144:172], unhex(t, v6)) || le.Uint32(b[272:]) != noIndex {
		t.Errorf("QUERY: %x", b)
	}
	if b = r.AppendRoute(nil); len(b) != 208 || !bytes.Equal(b[136:152], unhex(t, v4)) || !bytes.Equal(b[164:192], unhex(t, v6)) || b[196] != 1 {
		t.Errorf("QUERY_ROUTE: %x", b)
	}
	if b = r.AppendGIDs(nil); len(b) != 280 || le.Uint16(b[12:]) != 48 || !bytes.Equal(b[24:40], unhex(t, `00000000000000000000ffff7f000001`)) {
		t.Errorf("QUERY of GIDs: %x", b)
	}
	b = AppendInitDatagramQPAttr(nil, 1)
	if len(b) != 144 || le.Uint32(b) != 0x71 || le.Uint32(b[4:]) != 1 || le.Uint32(b[20:]) != QKey || b[133] != 1 {
		t.Errorf("INIT_QP_ATTR for datagrams: %x", b)
	}
}

// FuzzCommands: no input of any command panics.
func FuzzCommands(f *testing.F) {
	for n, tt := range inputs {
		b, _ := hex.DecodeString(regexp.MustCompile(`\s`).ReplaceAllString(tt.in, ""))
		f.Add(uint8(n), b)
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		_, _, _ = ParseHeader(b)
		tt := inputs[int(n)%len(inputs)]
		got, err := tt.parse(b)
		if c, ok := got.(ConnRequest); ok && err == nil && len(c.Param.PrivateData) > PrivateDataLen-1 {
			t.Errorf("private data of %d bytes", len(c.Param.PrivateData))
		}
	})
}
