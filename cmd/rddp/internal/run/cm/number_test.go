//go:build linux

package cm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// TestPlaces checks the places of some numbers, which no version of rddp may change, and that those
// of each number differ.
func TestPlaces(t *testing.T) {
	for number, want := range map[uint16][8]uint16{
		6379:  {63723, 63726, 63729, 63732, 63735, 63738, 63741, 63744}, // 0xf000 + 2283, in steps of 3
		4420:  {61764, 61767, 61770, 61773, 61776, 61779, 61782, 61785},
		445:   {61885, 61886, 61887, 61888, 61889, 61890, 61891, 61892},
		65535: {65535, 61470, 61501, 61532, 61563, 61594, 61625, 61656},
	} {
		if got := Places(number); got != want {
			t.Errorf("the places of %d are %v, want %v", number, got, want)
		}
	}
	for n := range 1 << 16 {
		seen := make(map[uint16]bool)
		for _, p := range Places(uint16(n)) {
			if seen[p] || p < firstPlace {
				t.Fatalf("the places of %d are %v", n, Places(uint16(n)))
			}
			seen[p] = true
		}
	}
}

// TestNumbers compares numbers with the diagram.
func TestNumbers(t *testing.T) {
	b := appendNumbers([]byte("data"), 0x1234, 0x5678)
	if want := "data\x12\x34\x56\x78rddp CM3"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if from, to, private, ok := parseNumbers(b); from != 0x1234 || to != 0x5678 || string(private) != "data" || !ok {
		t.Errorf("%x, %x, %q, %v", from, to, private, ok)
	}
	for n := range numbersLen {
		if _, _, private, ok := parseNumbers(b[len(b)-n:]); ok || len(private) != n {
			t.Errorf("%d bytes are numbers", n)
		}
	}
}

// TestWhere compares a question with the diagram.
func TestWhere(t *testing.T) {
	b := appendWhere(nil, 0x1234)
	if want := "rddp CM?\x12\x34"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if n, ok := parseWhere(b); n != 0x1234 || !ok {
		t.Errorf("%x, %v", n, ok)
	}
	for n := range len(b) {
		if _, ok := parseWhere(b[:n]); ok {
			t.Errorf("%d bytes are a question", n)
		}
	}
	if _, ok := parseWhere(append(b, 0)); ok {
		t.Error("a question that is too long is one")
	}
}

// FuzzParseRequest: the parsers of a Request's parts take all bytes, and do not make any up.
func FuzzParseRequest(f *testing.F) {
	f.Add(appendNumbers([]byte("data"), 1, 2))
	f.Add(appendWhere(nil, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		if from, to, private, ok := parseNumbers(b); ok && string(appendNumbers(private[:len(private):len(private)], from, to)) != string(b) {
			t.Errorf("numbers %d and %d, %q", from, to, private)
		}
		if n, ok := parseWhere(b); ok && string(appendWhere(nil, n)) != string(b) {
			t.Errorf("a question for %d", n)
		}
	})
}

// TestClaims: which claims of two programs exclude each other, and the kernel's errors.
func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		first, then         string
		firstOnly, thenOnly bool // RDMA_OPTION_ID_AFONLY
		firstReuse, reuse   bool
		want                syscall.Errno
	}{
		{first: "127.0.0.1", then: "127.0.0.1", want: syscall.EADDRINUSE},
		{first: "127.0.0.1", then: "192.0.2.1"},
		{first: "127.0.0.1", then: "0.0.0.0", want: syscall.EADDRNOTAVAIL},
		{first: "0.0.0.0", then: "127.0.0.1", want: syscall.EADDRNOTAVAIL},
		{first: "0.0.0.0", then: "0.0.0.0", want: syscall.EADDRNOTAVAIL},
		{first: "0.0.0.0", then: "::", want: syscall.EADDRNOTAVAIL},
		{first: "0.0.0.0", then: "::", thenOnly: true},
		{first: "::", firstOnly: true, then: "0.0.0.0"},
		{first: "::", firstOnly: true, then: "::", want: syscall.EADDRNOTAVAIL},
		{first: "::1", then: "::1", want: syscall.EADDRINUSE},
		{first: "127.0.0.1", firstReuse: true, then: "127.0.0.1", reuse: true},
		{first: "127.0.0.1", firstReuse: true, then: "127.0.0.1", want: syscall.EADDRINUSE},
		{first: "127.0.0.1", then: "127.0.0.1", reuse: true, want: syscall.EADDRINUSE},
		{first: "0.0.0.0", firstReuse: true, then: "0.0.0.0", reuse: true},
		{first: "::", firstOnly: true, firstReuse: true, then: "::", thenOnly: true, want: syscall.EADDRNOTAVAIL},
	} {
		t.Run(fmt.Sprintf("%s-%v-%v then %s-%v-%v", tt.first, tt.firstOnly, tt.firstReuse, tt.then, tt.thenOnly, tt.reuse), func(t *testing.T) {
			c := newCM(t)
			c.cm.mu.Lock()
			defer c.cm.mu.Unlock()
			i := c.cm.newLocked(c, ucma.TCP, idle)
			i.afOnly, i.reuse = tt.firstOnly, tt.firstReuse
			p, at, err := i.claimAny(netip.MustParseAddr(tt.first))
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			second, err := claim(connectionNumbers, netip.AddrPortFrom(netip.MustParseAddr(tt.then), at.Port()), tt.thenOnly, tt.reuse)
			second.close()
			if errnoOf(err, 0) != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestClaimEnds: a claim ends with its id.
func TestClaimEnds(t *testing.T) {
	server := newParty(t, 1)
	at := server.listen()
	other := newParty(t, 2)
	other.newID()
	in := (&ucma.BindRequest{ID: other.id, Addr: ucma.Address{AddrPort: at}}).AppendTo(nil)
	if _, _, e := other.ch.Do(nil, ucma.Bind, in, 0); e != syscall.EADDRINUSE {
		t.Errorf("the number of another program: %v", e)
	}
	server.do(ucma.DestroyID, ucma.Numbers{ID: server.id}.AppendAnswered(nil))
	other.do(ucma.Bind, in)
}

// TestReuseListens: two ids with RDMA_OPTION_ID_REUSEADDR share a number, until one is to listen.
func TestReuseListens(t *testing.T) {
	a, b := newParty(t, 1), newParty(t, 2)
	var at netip.AddrPort
	for _, p := range []*party{a, b} {
		p.newID()
		p.setReuse()
		if at.IsValid() {
			p.bind(at)
		} else {
			p.bind(netip.AddrPortFrom(localhost, 0))
			at = p.addresses().Src
		}
	}
	in := ucma.Numbers{ID: a.id}.AppendPlain(nil)
	if _, _, e := a.ch.Do(nil, ucma.Listen, in, 0); e != syscall.EADDRINUSE {
		t.Errorf("LISTEN beside another id: %v", e)
	}
	b.do(ucma.DestroyID, ucma.Numbers{ID: b.id}.AppendAnswered(nil))
	a.do(ucma.Listen, in)
}

// meet connects client with server, which listens at the address, and checks the numbers that both
// see.
func meet(t *testing.T, client, server *party, at netip.AddrPort) {
	t.Helper()
	client.route(at)
	asks := client.addresses()
	client.connect(1, "hello")
	e := server.accept(2, "world")
	if e.UID != server.uid || string(e.Param.PrivateData[:5]) != "hello" {
		t.Errorf("the request is %+v", e)
	}
	client.event(ucma.ConnectResponse)
	server.event(ucma.Established)
	if r := server.addresses(); r.Src != at || r.Dst != asks.Src {
		t.Errorf("the server sees %v, the client %v", r, asks)
	}
	if r := client.addresses(); r != asks {
		t.Errorf("the client sees %v, and saw %v", r, asks)
	}
}

// tcpListener listens at a TCP port of localhost, and does f with what connects. It closes what f
// leaves open. ok is false if the port is in use.
func tcpListener(t *testing.T, port uint16, f func(net.Conn)) (at netip.AddrPort, ok bool) {
	t.Helper()
	l, err := net.Listen("tcp4", netip.AddrPortFrom(localhost, port).String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return at, false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			c.Close()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String()), true
}

// claims gives p an id that has the number, and reports whether that is possible.
func (p *party) claims(at netip.AddrPort) bool {
	p.newID()
	_, _, e := p.ch.Do(nil, ucma.Bind, (&ucma.BindRequest{ID: p.id, Addr: ucma.Address{AddrPort: at}}).AppendTo(nil), 0)
	return e == 0
}

// listens makes the id of p listen.
func (p *party) listens() {
	p.t.Helper()
	p.do(ucma.Listen, ucma.Numbers{ID: p.id, Other: 1}.AppendPlain(nil))
}

// TestNumberOfTCP: a program listens with rdma_cm at the number of a TCP port that another socket
// has, from before or from later on, and that socket notices nothing. Peers find the listener,
// through memory and from another host.
func TestNumberOfTCP(t *testing.T) {
	disturbed := func(c net.Conn) { t.Errorf("the TCP server has a connection from %v", c.RemoteAddr()) }
	for _, tt := range []struct {
		desc string
		new  func(*testing.T, uint64) *party
	}{{"memory", newParty}, {"TCP", overTCP}} {
		t.Run(tt.desc, func(t *testing.T) {
			server, client := tt.new(t, 1), tt.new(t, 2)
			at, _ := tcpListener(t, 0, disturbed)
			for !server.claims(at) {
				at, _ = tcpListener(t, 0, disturbed)
			}
			server.listens()
			meet(t, client, server, at)

			server, client = tt.new(t, 3), tt.new(t, 4)
			at = server.listen()
			for {
				if _, ok := tcpListener(t, at.Port(), disturbed); ok {
					break
				}
				at = server.listen()
			}
			meet(t, client, server, at)
		})
	}
}

// TestSourceNumber: the peer sees the number that the connecting program has bound.
func TestSourceNumber(t *testing.T) {
	for _, far := range []func(*testing.T, uint64) *party{newParty, overTCP} {
		server, client := far(t, 1), far(t, 2)
		at := server.listen()
		client.newID()
		client.bind(netip.AddrPortFrom(localhost, 0))
		from := client.addresses().Src
		client.resolve(at)
		client.connect(1, "")
		server.id = server.event(ucma.ConnectRequest).ID
		if r := server.addresses(); r.Dst != from || r.Src != at {
			t.Errorf("the server sees %v, want %v from %v", r, at, from)
		}
	}
}

// TestPlaceTaken: a listener whose first places are taken is found, whoever has them: another
// listener of rdma_cm, or a server that ends, or answers, what it does not understand.
func TestPlaceTaken(t *testing.T) {
	server, client := overTCP(t, 1), overTCP(t, 2)
	for {
		other := overTCP(t, 3)
		others := other.listen()
		at := netip.AddrPortFrom(localhost, others.Port()-4096) // has the same first place
		if _, ok := tcpListener(t, Places(at.Port())[1], func(net.Conn) {}); !ok {
			continue
		}
		if _, ok := tcpListener(t, Places(at.Port())[2], func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }); !ok {
			continue
		}
		if !server.claims(at) {
			continue
		}
		server.listens()
		meet(t, client, server, at)
		meet(t, overTCP(t, 4), other, others)
		return
	}
}

// TestAllPlacesTaken: without a place a listener is refused.
func TestAllPlacesTaken(t *testing.T) {
	server := overTCP(t, 1)
	server.newID()
	server.bind(netip.AddrPortFrom(localhost, 0))
	for _, p := range Places(server.addresses().Src.Port()) {
		if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", p)); err == nil {
			defer l.Close()
		}
	}
	if _, _, e := server.ch.Do(nil, ucma.Listen, ucma.Numbers{ID: server.id}.AppendPlain(nil), 0); e != syscall.EADDRINUSE {
		t.Errorf("LISTEN: %v", e)
	}
}

// TestNoListener: where only a TCP server has the number, the program learns at once that nobody
// listens with rdma_cm there.
func TestNoListener(t *testing.T) {
	for _, f := range []func(net.Conn){
		func(net.Conn) {},
		func(c net.Conn) { _, _ = c.Read(make([]byte, 1024)) },
		func(c net.Conn) { fmt.Fprint(c, "-ERR unknown command 'MPA', with args beginning with:\r\n") },
	} {
		client := newParty(t, 1)
		at, _ := tcpListener(t, 0, f)
		client.route(at)
		client.connect(1, "")
		if e := client.event(ucma.Rejected); e.Status != invalidServiceID {
			t.Errorf("status %d", e.Status)
		}
	}
}

// TestListenerOfRNIC: a joined device finds a listener at the TCP port itself, as an RNIC has it
// and older versions of rddp.
func TestListenerOfRNIC(t *testing.T) {
	server, client := newPartyOf(t, 1, softrnic.Plain), newParty(t, 2)
	client.route(server.listen())
	client.change(uverbs.Init)
	client.connect(client.qpn, "hello")
	server.accept(server.qpn, "world")
	client.event(ucma.ConnectResponse)
	server.event(ucma.Established)
}

// TestAnotherNumber: a listener says no to a question for another number, and refuses a Request
// that names one.
func TestAnotherNumber(t *testing.T) {
	server, client := newParty(t, 1), newParty(t, 2)
	at := server.listen()
	m := client.ch.cm
	place, ok := m.find(t.Context(), localhost, at)
	if !ok || m.ask(t.Context(), localhost, place, at.Port()+1) {
		t.Errorf("the listener is at %v: %v; or has another number", place, ok)
	}
	client.route(at)
	greeting := greet(softrnic.Frames, 1, appendNumbers(nil, 1, at.Port()+1), proposal{})
	end := new(softrnic.Contact)
	c, err := client.ch.cm.reach(t.Context(), client.addresses().Src, at, end.Config(softrnic.Frames, 1, 1), greeting, end)
	if err == nil {
		c.Close()
		t.Error("the connection is accepted")
	}
	if ok, _ := server.ch.Take(func(*ucma.Event) syscall.Errno { return 0 }); ok {
		t.Error("the program hears of it")
	}
}

// setReuse sets RDMA_OPTION_ID_REUSEADDR.
func (p *party) setReuse() {
	p.t.Helper()
	p.do(ucma.SetOption, setOption(1, p.id, ucma.LevelID, ucma.OptionReuse, 4))
}

// TestNumberOfUDP: an id for datagrams listens at the number of a UDP port that another socket has,
// and a peer finds it, also if its first place is taken.
func TestNumberOfUDP(t *testing.T) {
	for _, taken := range []bool{false, true} {
		server, client := newParty(t, 1), newParty(t, 2)
		server.space, client.space = ucma.UDP, ucma.UDP
		var at netip.AddrPort
		for {
			server.newID()
			server.bind(netip.AddrPortFrom(localhost, 0))
			at = server.addresses().Src
			if udpSocket(t, at.Port()) && (!taken || udpSocket(t, Places(at.Port())[0])) {
				break
			}
		}
		server.listens()
		client.route(at)
		asks := client.addresses()
		client.connect(0, "hello")
		e := server.event(ucma.ConnectRequest)
		server.id = e.ID
		if r := server.addresses(); r.Src != at || r.Dst != asks.Src {
			t.Errorf("the server sees %v, the client %v", r, asks)
		}
		param := ucma.ConnParam{QPN: 0x1234, Valid: true}
		server.do(ucma.Accept, (&ucma.ConnRequest{UID: 3, ID: server.id, Param: param}).AppendAccept(nil))
		if e := client.event(ucma.Established); e.Datagram.QPN != 0x1234 {
			t.Errorf("the answer is %+v", e.Datagram)
		}
	}
}

// udpSocket opens a UDP port of localhost that says nothing. It returns false if it is in use.
func udpSocket(t *testing.T, port uint16) bool {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(localhost, port)))
	if err != nil {
		return false
	}
	t.Cleanup(func() { c.Close() })
	return true
}

// TestQuestionForAnother: a listener for datagrams takes no question that names another number.
func TestQuestionForAnother(t *testing.T) {
	q := newQuestioner(t)
	m := message{kind: question, from: 1, to: q.i.src.Port() + 1}
	control := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: [4]byte{127, 0, 0, 1}})
	q.i.asked(q.i.service, &m, q.conn.LocalAddr().(*net.UDPAddr).AddrPort(), control)
	if ok, _ := q.i.ch.Take(func(*ucma.Event) syscall.Errno { return 0 }); ok {
		t.Error("the program hears of it")
	}
}

// TestNumbersOfSpaces: the numbers of connections and of datagrams are two sets.
func TestNumbersOfSpaces(t *testing.T) {
	p := newParty(t, 1)
	at := p.listen()
	p.space = ucma.UDP
	p.newID()
	p.bind(at)
	p.listens()
}
