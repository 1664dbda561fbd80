//go:build amd64 || arm64

package softrnic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
)

// A logged is a device whose log a test can read.
type logged struct {
	*Device
	mu  sync.Mutex
	log bytes.Buffer // +checklocks:mu
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(b)
}

// warnings returns how many warnings contain text.
func (l *logged) warnings(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// newLogged returns a device that uses TCP only.
func newLogged(t *testing.T) *logged {
	t.Helper()
	l := &logged{}
	var err error
	l.Device, err = New(Config{Addresses: []netip.Addr{localhost}, Log: slog.New(slog.NewTextHandler(l, nil)), OnlyTCP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// setUser sets the relation that the device takes for that of each peer's user. A test calls it
// before there are peers.
func (l *logged) setUser(r user.Relation) { l.userOf = func(*conn.Conn) user.Relation { return r } }

// envIntruder makes this process an intruder. It has two QPNs.
const envIntruder = "RDDP_TEST_INTRUDER"

// intrude asks for each of two queue pairs in the name of the other one, until it is accepted or
// refused. It returns how often it was accepted.
func intrude(t *testing.T, a, b uint32) (accepted int) {
	for _, w := range [][2]uint32{{a, b}, {b, a}} {
		if c, err := ask(t, w[0], w[1]); err == nil {
			accepted++
			_ = c.Close()
		}
	}
	return accepted
}

// ask asks for the queue pair to in the name of the queue pair from. Both are at localhost.
func ask(t *testing.T, from, to uint32) (*extsock.Conn, error) {
	d := extsock.Dialer{Config: &extsock.Config{
		Messages: true, PrivateData: hello{kind: joining, from: from, to: to, gid: localhost.As16()}.appendTo(nil), NoCapabilities: true,
	}}
	c, err := d.DialDDP(t.Context(), "tcp", qpnAddress(localhost.As16(), to))
	if err == nil {
		_, err = c.Write(iAmHere.appendTo(nil))
	}
	return c, err
}

// TestReasonAgainst checks which peers of this host are not joined, whatever they send.
func TestReasonAgainst(t *testing.T) {
	for r, want := range map[user.Relation]error{user.Same: nil, user.Unknown: nil, user.Another: errAnotherUser, user.Ending: errEnding} {
		if got := reasonAgainst(r); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", r, got, want)
		}
	}
}

// asAnotherUser runs the test once more, as another user.
func asAnotherUser(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	const nobody = 65534
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	c.Env, c.Dir, c.Stderr = append(os.Environ(), envIntruder+"="+env), "/", os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return c
}

// swap sends a message in each direction.
func swap(t *testing.T, a, b *program, qa, qb *guest.QP) {
	t.Helper()
	for _, x := range []struct {
		from, to *program
		q, r     *guest.QP
	}{{a, b, qa, qb}, {b, a, qb, qa}} {
		want := x.from.fill(0, 100, 3)
		x.r.PostRecv(1, x.to.mr.Part(4096, 100))
		if err := x.q.Post(guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{x.from.mr.Part(0, 100)}}); err != nil {
			t.Fatal(err)
		}
		x.to.want("the receive", 1, uverbs.Success)
		x.from.want("the Send", 2, uverbs.Success)
		if got := x.to.read(4096, 100); !bytes.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAnotherUser checks that another user is not joined with a queue pair: neither before the
// program has named the peer, nor after that, in either direction. The peer is joined nevertheless.
func TestAnotherUser(t *testing.T) {
	if numbers := os.Getenv(envIntruder); numbers != "" {
		var a, b uint32
		if _, err := fmt.Sscan(numbers, &a, &b); err != nil {
			t.Fatal(err)
		}
		if n := intrude(t, a, b); n > 0 {
			t.Errorf("user %d is joined %d times", os.Geteuid(), n)
		}
		return
	}
	for _, early := range []bool{true, false} {
		da, db := newLogged(t), newLogged(t)
		a, b := newProgram(t, da.Device), newProgram(t, db.Device)
		qa, qb := a.qp(nil), b.qp(nil)
		if !early { // each waits for the other one, which is not ready
			nobody := [16]byte{15: 1}
			if err := errors.Join(qa.Modify(guest.Init, nobody, 0, nil), qa.Modify(guest.RTR, b.gid, qb.Num, nil)); err != nil {
				t.Fatal(err)
			}
		}
		c := asAnotherUser(t, fmt.Sprint(qa.Num, " ", qb.Num))
		if out, err := c.Output(); err != nil {
			t.Errorf("early: %v: %v: %s", early, err, out)
		}
		for _, d := range []*logged{da, db} {
			if n := d.warnings(errAnotherUser.Error()); n != 1 {
				t.Errorf("early: %v: %d warnings", early, n)
			}
		}
		if early {
			joinPair(t, a, b, qa, qb)
		} else if err := errors.Join(qa.Modify(guest.RTS, b.gid, qb.Num, nil), qb.Join(a.gid, qa.Num)); err != nil {
			t.Fatal(err)
		}
		swap(t, a, b, qa, qb)
	}
}

// elsewhere is an address that is not that of the devices, and greater. So the devices dial it.
var elsewhere = netip.MustParseAddr("127.0.0.2")

// answerAll prints a QPN of its port at elsewhere, and then accepts n Requests in the name of the
// queue pairs that they are for.
func answerAll(t *testing.T, n int) {
	l, err := extsock.Listen("tcp", netip.AddrPortFrom(elsewhere, 0).String(), &extsock.Config{Messages: true, Startup: extsock.StartupOff})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fmt.Println("listens", uint32(addrPort(l.Addr()).Port())<<8)
	for range n {
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := nc.(*extsock.Conn)
		r, err := c.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h, err := parseHello(r.PrivateData)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Accept(t.Context(), hello{kind: joining, from: h.to, to: h.from, gid: elsewhere.As16()}.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 100)); err == nil {
			t.Fatalf("the device says that it is joined with user %d", os.Geteuid())
		}
		_ = c.Close()
	}
}

// TestAnotherUsersPort checks that a device that dials is not joined with another user that listens
// at the port at which the peer's device may have been.
func TestAnotherUsersPort(t *testing.T) {
	if os.Getenv(envIntruder) != "" {
		answerAll(t, 2) // the device dials again
		return
	}
	d := newLogged(t)
	p := newProgram(t, d.Device)
	q := p.qp(nil)
	c := asAnotherUser(t, "1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var num uint32
	lines := bufio.NewScanner(out)
	for num == 0 && lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "listens %d", &num) // other lines are the test's own
	}
	if err := q.Join(elsewhere.As16(), num); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the intruder: %v", err)
	}
	if n := d.warnings(errAnotherUser.Error()); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// TestPeerElsewhere checks that a peer whose user the kernel does not know is joined if the device
// at the port of its queue pair says that it dials, and that no other process is joined in its
// place, with another secret or with none.
func TestPeerElsewhere(t *testing.T) {
	for _, early := range []bool{true, false} {
		da, db := newLogged(t), newLogged(t)
		da.setUser(user.Unknown)
		db.setUser(user.Unknown)
		a, b := newProgram(t, da.Device), newProgram(t, db.Device)
		qa, qb := a.qp(nil), b.qp(nil)
		if qa.Num > qb.Num { // so that a dials
			a, b, db, qa, qb = b, a, da, qb, qa
		}
		refused := make(chan error, 2*earlyMost)
		intruder := func(from, to uint32) {
			_, err := ask(t, from, to)
			refused <- err
		}
		if !early {
			if err := errors.Join(qb.Modify(guest.Init, a.gid, 0, nil), qb.Modify(guest.RTR, a.gid, qa.Num, nil)); err != nil {
				t.Fatal(err)
			}
		}
		for range earlyMost { // so that none is left for the peer, if they wait
			go intruder(qa.Num, qb.Num)
		}
		if early {
			prototest.Wait(t, "the Requests", func() bool {
				q := b.dev.find(qb.Num)
				q.mu.Lock()
				defer q.mu.Unlock()
				return len(q.requests) == earlyMost
			})
			joinPair(t, a, b, qa, qb)
		} else {
			for range earlyMost { // a has not begun to dial
				if err := <-refused; err == nil {
					t.Error("the intruder is joined")
				}
				refused <- errNotItsPort
			}
			if err := errors.Join(qa.Join(b.gid, qb.Num), qb.Modify(guest.RTS, a.gid, qa.Num, nil)); err != nil {
				t.Fatal(err)
			}
		}
		swap(t, a, b, qa, qb)
		for range earlyMost {
			if err := <-refused; err == nil {
				t.Error("the intruder is joined")
			}
		}
		if n := db.warnings(errNotItsPort.Error()); n != 1 {
			t.Errorf("early: %v: %d warnings", early, n)
		}
	}
}

// TestEarlyRequests checks how many Requests wait for a program that has not named its peer, and
// that those of another peer are refused once it has.
func TestEarlyRequests(t *testing.T) {
	p := newProgram(t, newLogged(t).Device)
	qp := p.qp(nil)
	q := p.dev.find(qp.Num)
	refused := make(chan error, 2*earlyMost)
	for range 2 * earlyMost {
		go func() {
			_, err := ask(t, 1<<8, qp.Num)
			refused <- err
		}()
	}
	for range earlyMost {
		if err := <-refused; err == nil {
			t.Error("it is joined")
		}
	}
	q.mu.Lock()
	waiting := len(q.requests)
	q.mu.Unlock()
	if waiting != earlyMost {
		t.Errorf("%d Requests wait, want %d", waiting, earlyMost)
	}
	if err := qp.Join(p.gid, 2<<8); err != nil {
		t.Fatal(err)
	}
	for range earlyMost {
		if err := <-refused; err == nil {
			t.Error("another peer is joined")
		}
	}
}

// TestQuestion checks when a device says that it dials: while it does, with the secret of the dial,
// and to the queue pair that it dials. It tells the peer that asks nothing else.
func TestQuestion(t *testing.T) {
	d := newLogged(t)
	p := newProgram(t, d.Device)
	qp := p.qp(nil)
	q := d.find(qp.Num)
	l, err := net.Listen("tcp", netip.AddrPortFrom(elsewhere, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody accepts
	num := uint32(addrPort(l.Addr()).Port()) << 8
	if err := qp.Join(elsewhere.As16(), num); err != nil {
		t.Fatal(err)
	}
	q.mu.Lock()
	s := q.secret
	q.mu.Unlock()
	right := hello{kind: question, from: num, to: qp.Num, gid: elsewhere.As16(), secret: s}
	for _, tt := range []struct {
		desc   string
		change func(h *hello)
		want   bool
	}{
		{"the right question", func(*hello) {}, true},
		{"another secret", func(h *hello) { h.secret[15] ^= 1 }, false},
		{"no secret", func(h *hello) { h.secret = secret{} }, false},
		{"another queue pair asks", func(h *hello) { h.from++ }, false},
		{"another host asks", func(h *hello) { h.gid[15]++ }, false},
		{"about another queue pair", func(h *hello) { h.to++ }, false},
		{"no question", func(h *hello) { h.kind = joining }, false},
	} {
		h := right
		tt.change(&h)
		e := extsock.Dialer{Config: &extsock.Config{PrivateData: h.appendTo(nil), NoCapabilities: true}}
		_, err := e.DialDDP(t.Context(), "tcp", qpnAddress(p.gid, qp.Num))
		var r *mpa.RejectError
		if !errors.As(err, &r) || (string(r.PrivateData) == confirmed) != tt.want || !tt.want && len(r.PrivateData) > 0 {
			t.Errorf("%s: %v", tt.desc, err)
		}
	}
	if err := qp.Modify(guest.Reset, p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	if q.isDialing(&right) {
		t.Error("a queue pair in RESET dials")
	}
}

// TestWrongEndAsks checks that the end that dials takes no Request of the other one, which never
// makes any.
func TestWrongEndAsks(t *testing.T) {
	p := newProgram(t, newLogged(t).Device)
	q := p.qp(nil)
	const higher = 0xffff01
	if err := q.Join(p.gid, higher); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, higher, q.Num); err == nil {
		t.Error("it is joined")
	}
}

// TestForgedDatagram checks that a datagram that does not come from the port of its queue pair is
// lost.
func TestForgedDatagram(t *testing.T) {
	const key = 7
	ud := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) }
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(ud), b.qp(ud)
	if err := errors.Join(qa.Enable(key), qb.Enable(key)); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", qpnAddress(b.gid, qb.Num))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own := uint32(addrPort(c.LocalAddr()).Port()) << 8
	qb.PostRecv(1, b.mr.Part(0, 100))
	qb.PostRecv(2, b.mr.Part(100, 100))
	for _, from := range []uint32{qa.Num, own} { // the second one has its port
		d := datagram{to: qb.Num, from: from, key: key, gid: b.gid}
		if _, err := c.Write(append(d.appendTo(nil), "hello"...)); err != nil {
			t.Fatal(err)
		}
	}
	if w := b.want("a datagram", 1, uverbs.Success); w.Source != own {
		t.Errorf("it comes from %#x, want %#x", w.Source, own)
	}
	to := guest.To{QPN: qb.Num, QKey: key, GID: b.gid}
	if err := qa.Post(guest.WR{ID: 3, Op: guest.OpSend, Data: []byte("x"), Flags: guest.Inline, To: &to}); err != nil {
		t.Fatal(err)
	}
	if w := b.want("the device's", 2, uverbs.Success); w.Source != qa.Num {
		t.Errorf("it comes from %#x, want %#x", w.Source, qa.Num)
	}
}

// TestLackOfDescriptorsInLog: the log of a device without descriptors says why its queue pairs are
// not joined, as a warning, but not for each of a thousand.
func TestLackOfDescriptorsInLog(t *testing.T) {
	var b bytes.Buffer
	d := &Device{log: slog.New(slog.NewTextHandler(&b, nil)), warnings: make(warnings)}
	q := &queuePair{num: 1, ctx: &Context{dev: d}}
	q.dialFails(2, syscall.ECONNREFUSED)
	if b.Len() > 0 {
		t.Errorf("without a peer, the log says %q", &b)
	}
	for range 1000 {
		q.dialFails(2, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)})
	}
	if s := b.String(); strings.Count(s, "level=WARN") != 1 || !strings.Contains(s, "too many open files") {
		t.Errorf("the log says %q", s)
	}
}

// TestRefusalsInLog checks how often a refusal is logged.
func TestRefusalsInLog(t *testing.T) {
	r := make(warnings)
	begin := time.Now()
	for _, tt := range []struct {
		why   error
		after time.Duration
		want  bool
	}{
		{errAnotherUser, 0, true}, {errAnotherUser, 1, false}, {errNotItsPort, 1, true}, {errAnotherUser, warnEvery - 1, false},
		{errAnotherUser, warnEvery, true}, {errAnotherUser, warnEvery + 1, false},
	} {
		if got := r.isDue(tt.why, begin.Add(tt.after)); got != tt.want {
			t.Errorf("%v after %v: %v", tt.why, tt.after, got)
		}
	}
}
