package ucma

import (
	"net/netip"
	"reflect"
	"testing"
)

// The device parses the requests that a program makes. The device's parsers are tested against
// bytes that were written by hand from the kernel's headers.
func TestRequests(t *testing.T) {
	id := IDRequest{UID: 5, Response: 0x1000, PortSpace: TCP, QPType: 2}
	n := Numbers{Response: 0x1000, ID: 3, Other: 4}
	bind := BindRequest{ID: 3, Addr: addr4}
	to := Resolution{ID: 3, Dst: addr6}
	conn := ConnRequest{ID: 3, Param: ConnParam{QPN: 8, PrivateData: []byte("abc"), Responder: 1, Initiator: 2, RetryCount: 7, RNRetry: 7, Valid: true}}
	accept := conn
	accept.UID = 99
	for _, tt := range []struct {
		desc  string
		in    []byte
		parse func(b []byte) (any, error)
		want  any
	}{
		{"CREATE_ID", id.AppendTo(nil), func(b []byte) (any, error) { return ParseCreateID(b) }, id},
		{"QUERY", n.AppendAnswered(nil), func(b []byte) (any, error) { return ParseAnswered(b) }, n},
		{"LISTEN", n.AppendPlain(nil), func(b []byte) (any, error) { return ParsePlain(b) }, Numbers{ID: 3, Other: 4}},
		{"BIND", bind.AppendTo(nil), func(b []byte) (any, error) { return ParseBind(b) }, bind},
		{"RESOLVE_ADDR", to.AppendTo(nil, 7), func(b []byte) (any, error) { return ParseResolveAddr(b) }, to},
		{"CONNECT", conn.AppendConnect(nil), func(b []byte) (any, error) { return ParseConnect(b) }, conn},
		{"ACCEPT", accept.AppendAccept(nil), func(b []byte) (any, error) { return ParseAccept(b) }, accept},
		{"REJECT", (&Rejection{ID: 3, Reason: 28}).AppendTo(nil), func(b []byte) (any, error) {
			r, err := ParseReject(b)
			return [2]uint32{r.ID, uint32(r.Reason)}, err
		}, [2]uint32{3, 28}},
		{"GET_EVENT", AppendGetEvent(nil, 0x1000), func(b []byte) (any, error) { return ParseGetEvent(b) }, uint64(0x1000)},
	} {
		if got, err := tt.parse(tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.desc, got, err, tt.want)
		}
	}
	if h, _, err := ParseHeader(AppendHeader(nil, Listen, 8, 4)); err != nil || h != (Header{Listen, 8, 4}) {
		t.Errorf("header %+v, %v", h, err)
	}
}

func TestProgramParses(t *testing.T) {
	e := Event{UID: 1, ID: 2, Type: Established, Status: -5, Param: ConnParam{QPN: 3, PrivateData: []byte("hi"), Responder: 4, Initiator: 5}}
	if got, err := ParseEvent(e.AppendTo(nil)); err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("event %+v, %v, want %+v", got, err, e)
	}
	r := Route{GUID: [8]byte{1, 2}, Src: addr4.AddrPort, Dst: netip.AddrPort{}}
	if got, err := ParseAddr(r.AppendAddr(nil)); err != nil || got != r {
		t.Errorf("route %+v, %v, want %+v", got, err, r)
	}
}

// FuzzAnswers: no answer makes a parser panic.
func FuzzAnswers(f *testing.F) {
	f.Add((&Event{}).AppendTo(nil))
	f.Add((&Route{Src: addr6.AddrPort}).AppendAddr(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseNumber(b)
		_, _ = ParseAddr(b)
		if e, err := ParseEvent(b); err == nil {
			_ = e.Type.String()
		}
	})
}
