//go:build linux

package cm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestProposal compares a proposal with the diagram in proposal.go.
func TestProposal(t *testing.T) {
	p := proposal{responder: 1, initiator: 2, flowControl: 3, retry: 4, rnrRetry: 5, srq: true, mtu: 3, timeout: 6, trafficClass: 7, psn: 0x89abcd}
	b := p.appendTo([]byte("abc"))
	if want := "abc\x01\x02\x03\x04\x05\x01\x03\x06\x07\x89\xab\xcdrddp CM2"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if got, private, ok := parseProposal(b); !ok || got != p || string(private) != "abc" {
		t.Errorf("%+v, %q, %v; want %+v", got, private, ok, p)
	}
	for n := range b {
		if _, private, ok := parseProposal(b[:n]); ok || !bytes.Equal(private, b[:n]) {
			t.Errorf("%d bytes have a proposal", n)
		}
	}
}

// FuzzParseProposal: whatever a peer sends, the parameters are in range.
func FuzzParseProposal(f *testing.F) {
	f.Add((&proposal{}).appendTo([]byte("private")))
	f.Add(append(bytes.Repeat([]byte{0xff}, 12), proposalMagic...))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, private, ok := parseProposal(b)
		if !ok {
			return
		}
		if !bytes.HasPrefix(b, private) || p.retry > 7 || p.rnrRetry > 7 || p.mtu < 1 || p.mtu > uverbs.MTU || p.timeout > 31 || p.psn >= 1<<24 {
			t.Errorf("%+v, %q", p, private)
		}
	})
}

// TestOlderPeer: an older rddp sends no proposal. Its depths are those in the MPA frame, and Sends
// wait for receives.
func TestOlderPeer(t *testing.T) {
	p, private := proposed([]byte("private"), 3, 300)
	want := proposal{responder: 3, initiator: 255, retry: 7, rnrRetry: 7, mtu: uverbs.MTU, timeout: 17}
	if p != want || string(private) != "private" {
		t.Errorf("%+v, %q; want %+v", p, private, want)
	}
}

// A party is a program that uses rdma_cm and has a queue pair.
type party struct {
	t   *testing.T
	ch  *Channel
	ctx *softrnic.Context
	id  uint32
	qp  uint32
	qpn uint32
	uid uint64
	// of new ids; 0 means TCP
	space ucma.PortSpace
}

func newParty(t *testing.T, uid uint64) *party { return newPartyOf(t, uid, softrnic.Frames) }

// overTCP is newParty for a program that seems to be on a host of its own.
func overTCP(t *testing.T, uid uint64) *party { return newPartyOf(t, uid, softrnic.Frames, "far") }

// newPartyOf is newParty for a device of either kind. With an argument more, the device uses no
// memory that is shared.
func newPartyOf(t *testing.T, uid uint64, w softrnic.Wire, far ...string) *party {
	t.Helper()
	d, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, OnlyTCP: len(far) > 0})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{Device: d, IWARP: w == softrnic.Plain})
	t.Cleanup(func() {
		m.Close()
		d.Close()
	})
	file, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(file) })
	p := &party{t: t, ch: m.Open(1, "", func(bool) {}), uid: uid}
	if p.ctx, err = d.Open(softrnic.Memory{Bytes: file, From: 4096}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.ctx.Close)
	pd := binary.LittleEndian.Uint32(p.verb(uverbs.AllocPD, uverbs.AppendAnswered(nil)))
	cq := binary.LittleEndian.Uint32(p.verb(uverbs.CreateCQ, (&uverbs.CQ{CQE: 10, Channel: -1}).AppendTo(nil)))
	in := uverbs.QP{PD: pd, SendCQ: cq, RecvCQ: cq, Caps: uverbs.Caps{MaxSendWR: 1, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1}, Type: uverbs.RC}
	out := p.verb(uverbs.CreateQP, in.AppendTo(nil))
	p.qp, p.qpn = binary.LittleEndian.Uint32(out), binary.LittleEndian.Uint32(out[4:])
	return p
}

// verb sends a command to the device.
func (p *party) verb(cmd uverbs.Command, in []byte) []byte {
	p.t.Helper()
	out, _, err := p.ctx.Do(nil, cmd, in, nil)
	if err != nil {
		p.t.Fatalf("%v: %v", cmd, err)
	}
	return out
}

// do sends a command to rdma_cm.
func (p *party) do(cmd ucma.Command, in []byte) []byte {
	p.t.Helper()
	_, out, e := p.ch.Do(optionCaller{}, cmd, in, 336)
	if e != 0 {
		p.t.Fatalf("%v: %v", cmd, e)
	}
	return out
}

// An optionCaller is a program in whose memory the value at each address is the address.
type optionCaller struct{ Caller }

func (optionCaller) Read(b []byte, addr uint64) error {
	clear(b)
	b[0] = byte(addr)
	return nil
}

// setAckTimeout sets RDMA_OPTION_ID_ACK_TIMEOUT.
func (p *party) setAckTimeout(v uint8) {
	p.t.Helper()
	p.do(ucma.SetOption, setOption(uint64(v), p.id, ucma.LevelID, ucma.OptionAckTimeout, 1))
}

// setOption returns the input of SET_OPTION.
func setOption(value uint64, words ...uint32) []byte {
	return uverbs.AppendWords(binary.LittleEndian.AppendUint64(nil, value), words...)
}

// event takes the next event, which must have the type want.
func (p *party) event(want ucma.EventType) (got ucma.Event) {
	p.t.Helper()
	timeout := time.After(prototest.Patience(p.t))
	for {
		added := p.ch.Added()
		if ok, _ := p.ch.Take(func(e *ucma.Event) syscall.Errno { got = *e; return 0 }); ok {
			break
		}
		select {
		case <-added:
		case <-timeout:
			p.t.Fatalf("there is no event %v", want)
		}
	}
	if got.Type != want {
		p.t.Fatalf("event %v with status %d, want %v", got.Type, got.Status, want)
	}
	return got
}

// newID makes the id of p.
func (p *party) newID() {
	in := ucma.IDRequest{UID: p.uid, PortSpace: cmp.Or(p.space, ucma.TCP), QPType: uint8(uverbs.RC)}
	p.id = binary.LittleEndian.Uint32(p.do(ucma.CreateID, in.AppendTo(nil)))
}

// listen makes p a listener, and returns its address.
func (p *party) listen() netip.AddrPort {
	p.t.Helper()
	p.newID()
	p.bind(netip.AddrPortFrom(localhost, 0))
	p.do(ucma.Listen, ucma.Numbers{ID: p.id, Other: 1}.AppendPlain(nil))
	return p.addresses().Src
}

// bind binds the id of p.
func (p *party) bind(at netip.AddrPort) {
	p.t.Helper()
	p.do(ucma.Bind, (&ucma.BindRequest{ID: p.id, Addr: ucma.Address{AddrPort: at}}).AppendTo(nil))
}

var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// addresses returns the addresses of p's id.
func (p *party) addresses() ucma.Route {
	p.t.Helper()
	r, err := ucma.ParseAddr(p.do(ucma.Query, ucma.Numbers{ID: p.id}.AppendAnswered(nil)))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// route gives p an id with a route to an address.
func (p *party) route(to netip.AddrPort) {
	p.t.Helper()
	p.newID()
	p.resolve(to)
}

// resolve gives the id of p a route to an address.
func (p *party) resolve(to netip.AddrPort) {
	p.t.Helper()
	p.do(ucma.ResolveAddr, (&ucma.Resolution{ID: p.id, Dst: ucma.Address{AddrPort: to}}).AppendTo(nil, 1000))
	p.event(ucma.AddrResolved)
	p.do(ucma.ResolveRoute, ucma.Numbers{ID: p.id}.AppendPlain(nil))
	p.event(ucma.RouteResolved)
}

// attr returns the answer to INIT_QP_ATTR.
func (p *party) attr(to uverbs.State) (uverbs.Mask, uverbs.Attributes, syscall.Errno) {
	p.t.Helper()
	_, out, e := p.ch.Do(nil, ucma.InitQPAttr, ucma.Numbers{ID: p.id, Other: uint32(to)}.AppendAnswered(nil), 336)
	if e != 0 {
		return 0, uverbs.Attributes{}, e
	}
	mask, a, err := uverbs.ParseAttributes(out)
	if err != nil {
		p.t.Fatal(err)
	}
	return mask, a, 0
}

// change moves the queue pair to a state with the attributes from rdma_cm.
func (p *party) change(to uverbs.State) {
	p.t.Helper()
	mask, a, e := p.attr(to)
	if e != 0 {
		p.t.Fatalf("INIT_QP_ATTR for %v: %v", to, e)
	}
	p.verb(uverbs.ModifyQP, (&uverbs.Change{Handle: p.qp, Mask: mask, To: a}).AppendTo(nil))
}

// query returns the answer to QUERY_QP.
func (p *party) query() (a uverbs.Attributes) {
	p.t.Helper()
	b, le := p.verb(uverbs.QueryQP, uverbs.AppendAnswered(nil, p.qp, 0)), binary.LittleEndian
	copy(a.Address.DGID[:], b)
	a.Address.SGIDIndex, a.Address.HopLimit, a.Address.TrafficClass, a.Address.Global = b[24], b[25], b[26], b[30] != 0
	a.RQPSN, a.SQPSN, a.DestQPN, a.Access = le.Uint32(b[88:]), le.Uint32(b[92:]), le.Uint32(b[96:]), uverbs.Access(le.Uint32(b[100:]))
	a.PKey, a.State, a.MTU = le.Uint16(b[104:]), uverbs.State(b[108]), b[110]
	a.MaxRead, a.MaxDestRead, a.MinRNRTimer, a.Port, a.Timeout, a.Retry, a.RNRRetry = b[113], b[114], b[115], b[116], b[117], b[118], b[119]
	return a
}

// psn returns the first PSN that p expects.
func (p *party) psn() uint32 {
	p.ch.cm.mu.Lock()
	defer p.ch.cm.mu.Unlock()
	return p.ch.cm.ids[p.id].psn
}

const anyRemote = uverbs.RemoteWrite | uverbs.RemoteRead | uverbs.RemoteAtomic

// managedAttributes are all attributes that the kernel's rdma_cm sets (ib_cm's cm_init_qp_*_attr
// and cma's rdma_init_qp_attr), with the kernel's values for the parameters of TestAttributes: at
// the connecting end, at the accepting end when it has the Request, and at the accepting end if
// ACCEPT sets them.
var managedAttributes = []struct {
	name                       string
	state                      uverbs.State
	mask                       uverbs.Mask
	get                        func(a *uverbs.Attributes) any
	connects, accepts, decides any // in the kernel
}{
	{"pkey_index", uverbs.Init, uverbs.MaskPKey, func(a *uverbs.Attributes) any { return a.PKey }, uint16(0), uint16(0), uint16(0)},
	{"port_num", uverbs.Init, uverbs.MaskPort, func(a *uverbs.Attributes) any { return a.Port }, uint8(1), uint8(1), uint8(1)},
	{"qp_access_flags", uverbs.Init, uverbs.MaskAccess, func(a *uverbs.Attributes) any { return a.Access }, anyRemote, anyRemote, anyRemote},
	{"ah_attr", uverbs.RTR, uverbs.MaskAddress, func(a *uverbs.Attributes) any {
		d := a.Address
		return fmt.Sprint(netip.AddrFrom16(d.DGID).Unmap(), d.SGIDIndex, d.HopLimit, d.TrafficClass, d.Global)
	}, "127.0.0.1 0 64 0 true", "127.0.0.1 0 64 0 true", "127.0.0.1 0 64 0 true"},
	{"path_mtu", uverbs.RTR, uverbs.MaskMTU, func(a *uverbs.Attributes) any { return a.MTU }, uint8(5), uint8(5), uint8(5)},
	{"dest_qp_num", uverbs.RTR, uverbs.MaskDestQPN, func(a *uverbs.Attributes) any { return a.DestQPN }, "QPN", "QPN", "QPN"},
	{"rq_psn", uverbs.RTR, uverbs.MaskRQPSN, func(a *uverbs.Attributes) any { return a.RQPSN }, "own PSN", "own PSN", "own PSN"},
	{"max_dest_rd_atomic", uverbs.RTR, uverbs.MaskMaxDestRead, func(a *uverbs.Attributes) any { return a.MaxDestRead }, uint8(2), uint8(5), uint8(4)},
	{"min_rnr_timer", uverbs.RTR, uverbs.MaskMinRNRTimer, func(a *uverbs.Attributes) any { return a.MinRNRTimer }, uint8(0), uint8(0), uint8(0)},
	{"sq_psn", uverbs.RTS, uverbs.MaskSQPSN, func(a *uverbs.Attributes) any { return a.SQPSN }, "peer PSN", "peer PSN", "peer PSN"},
	{"retry_cnt", uverbs.RTS, uverbs.MaskRetry, func(a *uverbs.Attributes) any { return a.Retry }, uint8(6), uint8(6), uint8(6)},
	{"rnr_retry", uverbs.RTS, uverbs.MaskRNRRetry, func(a *uverbs.Attributes) any { return a.RNRRetry }, uint8(3), uint8(7), uint8(7)},
	{"max_rd_atomic", uverbs.RTS, uverbs.MaskMaxRead, func(a *uverbs.Attributes) any { return a.MaxRead }, uint8(4), uint8(3), uint8(2)},
	{"timeout", uverbs.RTS, uverbs.MaskTimeout, func(a *uverbs.Attributes) any { return a.Timeout }, uint8(17), uint8(17), uint8(17)},
}

// The columns of managedAttributes.
const (
	connects = iota
	accepts
	decides
)

// compare compares attributes of p with the kernel's. For a single state, the mask must contain
// exactly the attributes of that state.
func (p *party) compare(desc string, peer *party, got *uverbs.Attributes, state uverbs.State, mask uverbs.Mask, column int, timeout uint8) {
	p.t.Helper()
	for _, x := range managedAttributes {
		if state != allStates && x.state != state {
			continue
		}
		want := [...]any{x.connects, x.accepts, x.decides}[column]
		switch {
		case want == "QPN":
			want = peer.qpn
		case want == "own PSN":
			want = p.psn()
		case want == "peer PSN":
			want = peer.psn()
		case x.name == "timeout":
			want = timeout
		}
		if v := x.get(got); v != want {
			p.t.Errorf("%s: %s is %v, the kernel's %v", desc, x.name, v, want)
		}
		if state != allStates && mask&x.mask == 0 {
			p.t.Errorf("%s: %s is not in the mask", desc, x.name)
		}
		mask &^= x.mask
	}
	if state != allStates && mask != uverbs.MaskState {
		p.t.Errorf("%s: the mask has 0x%x too", desc, mask)
	}
}

// allStates selects the attributes of all states.
const allStates = uverbs.Err

// prepare compares the answers to INIT_QP_ATTR. If itself is set, the program sets the attributes.
func (p *party) prepare(peer *party, column int, timeout uint8, itself bool) {
	p.t.Helper()
	for _, s := range []uverbs.State{uverbs.Init, uverbs.RTR, uverbs.RTS} {
		mask, a, _ := p.attr(s)
		p.compare(fmt.Sprintf("INIT_QP_ATTR of %d for %v", p.uid, s), peer, &a, s, mask, column, timeout)
		if itself {
			p.change(s)
		}
	}
}

// inRTS compares the answer to QUERY_QP.
func (p *party) inRTS(peer *party, column int, timeout uint8) {
	p.t.Helper()
	a := p.query()
	p.compare(fmt.Sprintf("QUERY_QP of %d", p.uid), peer, &a, allStates, 0, column, timeout)
	if a.State != uverbs.RTS {
		p.t.Errorf("QUERY_QP of %d: the state is %v", p.uid, a.State)
	}
}

// TestAttributes: the parameters of rdma_connect and rdma_accept reach the right queue pair,
// whether a program sets the attributes itself, like librdmacm, or lets the device set them.
func TestAttributes(t *testing.T) {
	const unset = 255
	for _, tt := range []struct {
		desc           string
		itself         bool
		option         uint8 // RDMA_OPTION_ID_ACK_TIMEOUT of the connecting end
		client, server uint8 // timeouts
		reset          bool  // the connecting program leaves RESET only after the reply
	}{
		{desc: "by the programs", itself: true, option: unset, client: 17, server: 17},
		{desc: "by the device", option: unset, client: 17, server: 17},
		{desc: "by the programs, timeout 14", itself: true, option: 14, client: 14, server: 14},
		{desc: "by the device, timeout 0", option: 0, client: 0, server: 17},
		{desc: "from RESET", itself: true, option: unset, client: 17, server: 17, reset: true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			server, client := newParty(t, 1), newParty(t, 2)
			client.route(server.listen())
			if tt.option != unset {
				client.setAckTimeout(tt.option)
			}
			if _, _, e := client.attr(uverbs.RTR); e != syscall.EINVAL {
				t.Errorf("RTR before the connection: %v", e)
			}
			if !tt.reset {
				client.change(uverbs.Init)
			}
			param := ucma.ConnParam{
				QPN: client.qpn, PrivateData: []byte("hello"), SRQ: true, Responder: 3, Initiator: 5, FlowControl: 1, RetryCount: 6, RNRetry: 15, Valid: true,
			}
			client.do(ucma.Connect, (&ucma.ConnRequest{ID: client.id, Param: param}).AppendConnect(nil))
			e := server.event(ucma.ConnectRequest)
			want := ucma.ConnParam{
				QPN: client.qpn, PrivateData: []byte("hello"), SRQ: true, Responder: 5, Initiator: 3, FlowControl: 1, RetryCount: 6, RNRetry: 7,
			}
			if !reflect.DeepEqual(e.Param, want) {
				t.Errorf("the request says %+v, want %+v", e.Param, want)
			}
			server.id = e.ID
			server.change(uverbs.Init)
			server.prepare(client, accepts, tt.server, tt.itself)
			param = ucma.ConnParam{QPN: server.qpn, PrivateData: []byte("yes"), Responder: 4, Initiator: 2, RetryCount: 1, RNRetry: 3, Valid: true}
			server.do(ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param}).AppendAccept(nil))
			e = client.event(ucma.ConnectResponse)
			if want = (ucma.ConnParam{QPN: server.qpn, PrivateData: []byte("yes"), Responder: 2, Initiator: 4, RNRetry: 3}); !reflect.DeepEqual(e.Param, want) {
				t.Errorf("the reply says %+v, want %+v", e.Param, want)
			}
			client.prepare(server, connects, tt.client, tt.itself)
			client.do(ucma.Accept, (&ucma.ConnRequest{ID: client.id}).AppendAccept(nil))
			server.event(ucma.Established)
			client.inRTS(server, connects, tt.client)
			column := decides
			if tt.itself {
				column = accepts
			}
			server.inRTS(client, column, tt.server)
		})
	}
}

// TestPeerDisconnectsAtOnce: a peer that disconnects as soon as it has accepted does not stand in
// the way of a program that has not moved its queue pair yet. As with InfiniBand, where a peer
// cannot change the state of a queue pair, the program takes it to RTS, is connected, and is
// disconnected.
func TestPeerDisconnectsAtOnce(t *testing.T) {
	for _, before := range []uverbs.State{uverbs.Reset, uverbs.Init, uverbs.RTR} {
		t.Run(before.String(), func(t *testing.T) {
			server, client := newParty(t, 1), newParty(t, 2)
			client.route(server.listen())
			if before > uverbs.Reset {
				client.change(uverbs.Init)
			}
			param := ucma.ConnParam{QPN: client.qpn, Responder: 1, Initiator: 1, Valid: true}
			client.do(ucma.Connect, (&ucma.ConnRequest{ID: client.id, Param: param}).AppendConnect(nil))
			server.id = server.event(ucma.ConnectRequest).ID
			param.QPN = server.qpn
			server.do(ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param}).AppendAccept(nil))
			server.event(ucma.Established)
			client.event(ucma.ConnectResponse)
			if before > uverbs.Init {
				client.change(uverbs.RTR)
			}
			server.do(ucma.Disconnect, ucma.Numbers{ID: server.id}.AppendPlain(nil)[:4])
			client.event(ucma.Disconnected)
			client.is(uverbs.Err)
			for s := before + 1; s <= uverbs.RTS; s++ {
				client.change(s)
			}
			client.do(ucma.Accept, (&ucma.ConnRequest{ID: client.id}).AppendAccept(nil))
			client.is(uverbs.Err)
			to := uverbs.Change{Handle: client.qp, Mask: uverbs.MaskState, To: uverbs.Attributes{State: uverbs.RTS}}
			if _, _, err := client.ctx.Do(nil, uverbs.ModifyQP, to.AppendTo(nil), nil); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("from ERR to RTS: %v", err)
			}
		})
	}
}

// TestAheadOfDisconnect: once a program has taken its queue pair to ERR itself, it cannot take it
// through the states that a connection manager would have passed.
func TestAheadOfDisconnect(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	client.route(server.listen())
	client.change(uverbs.Init)
	param := ucma.ConnParam{QPN: client.qpn, Responder: 1, Initiator: 1, Valid: true}
	client.do(ucma.Connect, (&ucma.ConnRequest{ID: client.id, Param: param}).AppendConnect(nil))
	server.id = server.event(ucma.ConnectRequest).ID
	param.QPN = server.qpn
	server.do(ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param}).AppendAccept(nil))
	client.event(ucma.ConnectResponse)
	client.verb(uverbs.ModifyQP, (&uverbs.Change{Handle: client.qp, Mask: uverbs.MaskState, To: uverbs.Attributes{State: uverbs.Err}}).AppendTo(nil))
	mask, a, _ := client.attr(uverbs.RTR)
	if _, _, err := client.ctx.Do(nil, uverbs.ModifyQP, (&uverbs.Change{Handle: client.qp, Mask: mask, To: a}).AppendTo(nil), nil); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("from ERR to RTR: %v", err)
	}
}

// is checks the state of the queue pair.
func (p *party) is(want uverbs.State) {
	p.t.Helper()
	if s := p.query().State; s != want {
		p.t.Errorf("QUERY_QP of %d: the state is %v, want %v", p.uid, s, want)
	}
}

// TestPrivateDataLength: private data of a joined connection has the same limits as in InfiniBand's
// messages. A rejection must have a reason that the kernel allows programs to use.
func TestPrivateDataLength(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	client.route(server.listen())
	client.change(uverbs.Init)
	refused := func(p *party, cmd ucma.Command, in []byte) {
		t.Helper()
		if _, _, e := p.ch.Do(nil, cmd, in, 0); e != syscall.EINVAL {
			t.Errorf("%v: %v", cmd, e)
		}
	}
	param := func(p *party, n int) ucma.ConnParam {
		return ucma.ConnParam{QPN: p.qpn, PrivateData: make([]byte, n), Valid: true}
	}
	refused(client, ucma.Connect, (&ucma.ConnRequest{ID: client.id, Param: param(client, 57)}).AppendConnect(nil))
	client.do(ucma.Connect, (&ucma.ConnRequest{ID: client.id, Param: param(client, 56)}).AppendConnect(nil))
	server.id = server.event(ucma.ConnectRequest).ID
	server.change(uverbs.Init)
	refused(server, ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param(server, 197)}).AppendAccept(nil))
	in := uverbs.AppendWords(nil, server.id, 149)
	refused(server, ucma.Reject, append(in, make([]byte, 256)...))
	const staleConnection = 10 // a reason that programs must not use
	in = uverbs.AppendWords(nil, server.id, staleConnection<<8)
	refused(server, ucma.Reject, append(in, make([]byte, 256)...))
	server.do(ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param(server, 196)}).AppendAccept(nil))
	if e := client.event(ucma.ConnectResponse); len(e.Param.PrivateData) != 196 {
		t.Errorf("the reply has %d bytes", len(e.Param.PrivateData))
	}
}
