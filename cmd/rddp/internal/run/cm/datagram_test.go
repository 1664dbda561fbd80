//go:build linux

package cm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestMessage compares messages with the diagram in datagram.go, and in the older form.
func TestMessage(t *testing.T) {
	older := message{kind: yes, number: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, qpn: 0x123456, private: []byte("abc")}
	m := older
	m.from, m.to = 0x789a, 0xbcde
	for _, tt := range []struct {
		message
		want  string
		least int
	}{
		{older, "rddp SR1\x02\x01\x02\x03\x04\x05\x06\x07\x08\x00\x12\x34\x56abc", olderLen},
		{m, "rddp SR2\x02\x01\x02\x03\x04\x05\x06\x07\x08\x00\x12\x34\x56\x78\x9a\xbc\xdeabc", messageLen},
	} {
		b := tt.appendTo(nil)
		if string(b) != tt.want {
			t.Errorf("%q, want %q", b, tt.want)
		}
		if got, ok := parseMessage(b); !ok || !reflect.DeepEqual(got, tt.message) {
			t.Errorf("%+v, %v; want %+v", got, ok, tt.message)
		}
		for n := range tt.least {
			if _, ok := parseMessage(b[:n]); ok {
				t.Errorf("%d bytes are a message", n)
			}
		}
	}
}

// FuzzParseMessage: every message that parseMessage accepts is encoded to the same bytes again.
func FuzzParseMessage(f *testing.F) {
	f.Add((&message{kind: question, private: []byte("who?")}).appendTo(nil))
	f.Add((&message{kind: no, private: make([]byte, 256)}).appendTo(nil))
	f.Add((&message{kind: question, from: 1, to: 2}).appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parseMessage(b)
		if !ok {
			return
		}
		if len(m.private) > longestPrivateData || m.kind == 0 || m.kind > no || !bytes.Equal(m.appendTo(nil), b) {
			t.Errorf("%+v", m)
		}
	})
}

// newCM returns a connection manager with a channel.
func newCM(t *testing.T) *Channel {
	t.Helper()
	d, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{Device: d})
	t.Cleanup(func() {
		m.Close()
		d.Close()
	})
	return m.Open(1, "", func(bool) {})
}

// datagramIDLocked returns a new id bound to a port of localhost.
//
// +checklocks:c.cm.mu
func (c *Channel) datagramIDLocked(t *testing.T) *id {
	t.Helper()
	i := c.cm.newLocked(c, ucma.UDP, idle)
	i.uid, i.backlog = 1, maxBacklog
	if err := i.bind(netip.MustParseAddrPort("127.0.0.1:0")); err != nil {
		t.Fatal(err)
	}
	return i
}

// A questioner passes questions to a listener directly, and receives the answers on conn.
type questioner struct {
	t    *testing.T
	conn *net.UDPConn
	i    *id
}

func newQuestioner(t *testing.T) *questioner {
	c := newCM(t)
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(prototest.Deadline(t))
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	q := &questioner{t, conn, c.datagramIDLocked(t)}
	if err := q.i.listenDatagrams(); err != nil {
		t.Fatal(err)
	}
	return q
}

// ask asks question n, and returns the new id, or nil if there is no event.
func (q *questioner) ask(n int) *id {
	m := message{kind: question}
	binary.NativeEndian.PutUint64(m.number[:], uint64(n))
	control := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: [4]byte{127, 0, 0, 1}})
	q.i.asked(q.i.service, &m, q.conn.LocalAddr().(*net.UDPAddr).AddrPort(), control)
	var child *id
	q.i.ch.cm.mu.Lock()
	for _, v := range q.i.ch.events {
		child = v.child
	}
	q.i.ch.cm.mu.Unlock()
	if child != nil {
		q.i.ch.Take(func(*ucma.Event) syscall.Errno { return 0 })
	}
	return child
}

// decide answers yes, or destroys the id, which answers no.
func (q *questioner) decide(i *id, says messageKind) {
	q.t.Helper()
	q.i.cm.mu.Lock()
	if says == yes {
		if err := i.acceptDatagrams(1, &ucma.ConnParam{Valid: true}); err != nil {
			q.t.Errorf("ACCEPT: %v", err)
		}
	} else {
		i.destroy()
	}
	q.i.cm.mu.Unlock()
}

// want waits for an answer to question n.
func (q *questioner) want(n int, kind messageKind) {
	q.t.Helper()
	b := make([]byte, 1000)
	m, err := q.conn.Read(b)
	if err != nil {
		q.t.Fatalf("the answer to question %d: %v", n, err)
	}
	if got, ok := parseMessage(b[:m]); !ok || got.kind != kind || binary.NativeEndian.Uint64(got.number[:]) != uint64(n) {
		q.t.Errorf("%+v, want %d for question %d", got, kind, n)
	}
}

// TestUndecidedQuestions checks that a question causes only one event until the program has
// decided, however many others are decided in the meantime, and that there are at most maxBacklog
// undecided questions.
func TestUndecidedQuestions(t *testing.T) {
	q := newQuestioner(t)
	first := q.ask(0)
	for n := 1; n < maxBacklog+10; n++ {
		i := q.ask(n)
		if i == nil {
			t.Fatalf("question %d is no event", n)
		}
		q.decide(i, no)
		q.want(n, no)
	}
	if q.ask(0) != nil {
		t.Error("a question that waits for the program was forgotten")
	}
	q.decide(first, yes)
	for range 2 {
		q.want(0, yes)
		q.ask(0)
	}
	q.want(0, yes)
	// The answers make room for the same number of new questions.
	var last *id
	for n := range maxBacklog {
		if last = q.ask(10_000 + n); last == nil {
			t.Fatalf("question %d is no event", n)
		}
	}
	if q.ask(20_000) != nil {
		t.Error("there is no end of questions that wait")
	}
	q.decide(last, no)
	q.want(10_000+maxBacklog-1, no)
	if q.ask(20_000) == nil {
		t.Error("no question is taken after one was decided")
	}
}

// TestListenerGone checks that questions can be answered after their listener is gone, and that its
// port is free after that.
func TestListenerGone(t *testing.T) {
	for _, says := range []messageKind{yes, no} {
		q := newQuestioner(t)
		at := q.i.src
		a, b := q.ask(1), q.ask(2)
		q.i.cm.mu.Lock()
		q.i.destroy()
		q.i.cm.mu.Unlock()
		if q.ask(3) != nil {
			t.Error("a listener that is gone takes questions")
		}
		q.decide(a, says)
		q.want(1, says)
		q.ask(1) // again, as if the answer had been lost
		q.want(1, says)
		q.decide(b, says)
		q.want(2, says)
		p, err := claim(datagramNumbers, at, false, false)
		if err != nil {
			t.Errorf("the port after the last answer: %v", err)
		}
		p.close()
	}
}

// TestPortAfterQuestion checks that the port of an asking id is free when the id is destroyed.
func TestPortAfterQuestion(t *testing.T) {
	c := newCM(t)
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	for range 100 {
		i := c.datagramIDLocked(t)
		i.resolve(silent.LocalAddr().(*net.UDPAddr).AddrPort())
		i.become(routed)
		if err := i.connectDatagrams(nil); err != nil {
			t.Fatal(err)
		}
		at := i.src
		i.destroy()
		p, err := claim(datagramNumbers, at, false, false)
		if err != nil {
			t.Fatal(err)
		}
		p.close()
	}
}

// TestWrongAnswers checks that an id ignores answers to other questions.
func TestWrongAnswers(t *testing.T) {
	c := newCM(t)
	peer, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	peer.SetDeadline(prototest.Deadline(t))
	c.cm.mu.Lock()
	i := c.datagramIDLocked(t)
	i.resolve(peer.LocalAddr().(*net.UDPAddr).AddrPort())
	i.become(routed)
	err = i.connectDatagrams(nil)
	c.removeLocked(i)
	c.cm.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	n, from, err := peer.ReadFromUDPAddrPort(b)
	asked, ok := parseMessage(b[:n])
	if err != nil || !ok {
		t.Fatal(asked, err)
	}
	other := asked.number
	other[0]++
	for _, m := range []message{{kind: yes, number: other, qpn: 1}, {kind: question, number: asked.number, qpn: 2}, {kind: yes, number: asked.number, qpn: 3}} {
		if _, err := peer.WriteToUDPAddrPort(m.appendTo(nil), from); err != nil {
			t.Fatal(err)
		}
	}
	for added := c.Added(); ; added = c.Added() {
		ok, _ := c.Take(func(e *ucma.Event) syscall.Errno {
			if e.Type != ucma.Established || e.Datagram.QPN != 3 {
				t.Errorf("%v with queue pair %d, want the answer with 3", e.Type, e.Datagram.QPN)
			}
			return 0
		})
		if ok {
			return
		}
		select {
		case <-added:
		case <-prototest.TimeLimit(t).Done():
			t.Fatal("no answer")
		}
	}
}

// TestReceiveAfterError: an answer arrives although the socket has an error, because the peer has
// answered and ended while another question was on the way.
func TestReceiveAfterError(t *testing.T) {
	for _, again := range []bool{false, true} { // whether a Write gets the error
		peer, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.DialUDP("udp", nil, peer.LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := peer.WriteTo([]byte("answer"), conn.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		peer.Close()
		raw, err := conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Write([]byte("question"))
		if again {
			_, err = conn.Write([]byte("question"))
		}
		if errors.Is(err, syscall.ECONNREFUSED) != again {
			t.Fatalf("the question: %v", err)
		}
		b := make([]byte, 100)
		if n, err := receive(raw, b, err); err != nil || string(b[:n]) != "answer" {
			t.Errorf("%q, %v", b[:n], err)
		}
		_, err = conn.Write([]byte("question"))
		if n, err := receive(raw, b, err); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("without an answer: %q, %v", b[:n], err)
		}
	}
}
