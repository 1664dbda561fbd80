//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// A lateMemory is memory in which each access takes until the queue pair has ended, or for a
// limited time.
type lateMemory struct {
	Process
	once  sync.Once
	begun chan struct{} // closed when the first access begins
	ended atomic.Bool
	late  atomic.Int32 // accesses after the end
}

func (m *lateMemory) Write(b []byte, addr uint64) error {
	m.wait()
	return m.Process.Write(b, addr)
}

func (m *lateMemory) Read(b []byte, addr uint64) error {
	m.wait()
	return m.Process.Read(b, addr)
}

func (m *lateMemory) wait() {
	m.once.Do(func() { close(m.begun) })
	for i := 0; i < 10_000 && !m.ended.Load(); i++ {
		runtime.Gosched()
	}
	if m.ended.Load() {
		m.late.Add(1)
	}
}

// TestNoAccessAfterEnd: when a queue pair has been destroyed, reset or set to ERR, the peer neither
// writes nor reads the program's memory any more, whatever requests are on their way.
func TestNoAccessAfterEnd(t *testing.T) {
	t.Run("Write", func(t *testing.T) { testNoAccess(t, guest.OpWrite) })
	t.Run("Read", func(t *testing.T) { testNoAccess(t, guest.OpRead) })
	t.Run("FetchAdd", func(t *testing.T) { testNoAccess(t, guest.OpFetchAdd) })
}

func testNoAccess(t *testing.T, op uint32) {
	for desc, end := range map[string]func(p *program, q *guest.QP) error{
		"ERR":   func(p *program, q *guest.QP) error { return q.Modify(guest.Err, p.gid, 0, nil) },
		"RESET": func(p *program, q *guest.QP) error { return q.Modify(guest.Reset, p.gid, 0, nil) },
		"destroyed": func(p *program, q *guest.QP) error {
			_, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle)
			return err
		},
	} {
		t.Run(desc, func(t *testing.T) {
			a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
			m, err := self()
			if err != nil {
				t.Fatal(err)
			}
			late := &lateMemory{Process: m, begun: make(chan struct{})}
			b.memory = late
			mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
			if err != nil {
				t.Fatal(err)
			}
			qa, qb := a.qp(nil), b.qp(nil)
			joinPair(t, a, b, qa, qb)
			b.linkOf(t, qb)
			const writes = 10
			for i := range uint64(writes) {
				w := guest.WR{ID: i, Op: op, Flags: guest.Signaled, Remote: mr.Addr + i*8, Key: mr.Key, List: []guest.SGE{a.mr.Part(8, 8)}}
				if err := qa.Post(w); err != nil {
					t.Fatal(err)
				}
			}
			<-late.begun
			if err := end(b, qb); err != nil {
				t.Fatal(err)
			}
			late.ended.Store(true)
			a.poll(writes)    // the first may have succeeded before
			b.dev.work.Wait() // until the connection has ended here too
			if n := late.late.Load(); n > 0 {
				t.Errorf("%d accesses after the end", n)
			}
		})
	}
}

// TestNoDDPModeAfterEnd: a peer whose Request is answered when the queue pair has just ended does
// not reach DDP mode, in which it could write.
func TestNoDDPModeAfterEnd(t *testing.T) {
	p := newProgram(t, newDevice(t))
	x := p.dev.find(p.qp(nil).Num)
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	l := conn.NewListener(below, &conn.Config{StartupTimeout: requestTime})
	answered := make(chan error, 1)
	go func() {
		d := extsock.Dialer{Config: &extsock.Config{Messages: true, NoCapabilities: true}}
		c, err := d.DialDDP(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		answered <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.ReceiveRequest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.mu.Lock()
	life := x.life.number
	x.mu.Unlock()
	x.reset()
	x.answer(&request{conn: c, r: r, user: user.Same}, life)
	if err := <-answered; err == nil {
		t.Error("the peer is in DDP mode with a queue pair that has ended")
	}
}

// TestNoWriteBeforeJoin: a peer that writes before the two ends are joined writes nothing more when
// the queue pair ends.
func TestNoWriteBeforeJoin(t *testing.T) {
	p := newProgram(t, newDevice(t))
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	late := &lateMemory{Process: m, begun: make(chan struct{})}
	p.memory = late
	mr, err := p.Register(p.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	q := p.qp(nil)
	const peer = 1 << 8 // a QPN lower than any other, so the peer dials
	if err := q.Join(p.gid, peer); err != nil {
		t.Fatal(err)
	}
	d := extsock.Dialer{Config: &extsock.Config{
		Messages: true, PrivateData: hello{kind: joining, from: peer, to: q.Num, gid: p.gid}.appendTo(nil), NoCapabilities: true,
	}}
	c, err := d.DialDDP(t.Context(), "tcp", qpnAddress(p.gid, q.Num))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := p.dev.find(q.Num)
	prototest.Wait(t, "the connection", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.coming) == 1
	})
	// It never says that it is here.
	const writes = 10
	for i := range uint64(writes) {
		w := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 8), Remote: rdmap.Handle{STag: ddp.STag(mr.Key), TO: mr.Addr + i*8}}
		if err := c.Post(&w); err != nil {
			t.Fatal(err)
		}
	}
	<-late.begun
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
		t.Fatal(err)
	}
	late.ended.Store(true)
	_ = c.Close()
	prototest.Wait(t, "the end of the connection", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.coming) == 0
	})
	if n := late.late.Load(); n > 0 {
		t.Errorf("%d Writes came to the memory after the end", n)
	}
}

// TestDialEnds: a dial ends when the queue pair has a connection, even if a connection manager has
// made it.
func TestDialEnds(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	peer := netip.MustParseAddr("127.0.0.2") // more than localhost, so the device dials
	l, err := net.Listen("tcp", netip.AddrPortFrom(peer, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it never accepts
	if err := errors.Join(qa.Join(peer.As16(), uint32(addrPort(l.Addr()).Port())<<8), qb.Modify(guest.Init, b.gid, 0, nil)); err != nil {
		t.Fatal(err)
	}
	q := a.dev.find(qa.Num)
	stopped := false
	q.mu.Lock()
	stop := q.stopDial
	q.stopDial = func() {
		stopped = true
		stop()
	}
	q.mu.Unlock()
	manage(t, a, b, qa, qb)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !stopped {
		t.Error("the dial goes on")
	}
}

// TestRequestAfterDestroy: a peer that asks for a queue pair while it is destroyed is refused, and
// does not wait forever.
func TestRequestAfterDestroy(t *testing.T) {
	p := newProgram(t, newDevice(t))
	qp := p.qp(nil)
	q := p.dev.find(qp.Num)
	d := extsock.Dialer{Config: &extsock.Config{
		Messages: true, PrivateData: hello{kind: joining, from: 1 << 8, to: qp.Num, gid: p.gid}.appendTo(nil), NoCapabilities: true,
	}}
	refused := make(chan error, 1)
	go func() {
		c, err := d.DialDDP(t.Context(), "tcp", qpnAddress(p.gid, qp.Num))
		if err == nil {
			_ = c.Close()
		}
		refused <- err
	}()
	var r *request
	prototest.Wait(t, "the request", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.requests) > 0 {
			r, q.requests = q.requests[0], nil // as if it had not come this far
		}
		return r != nil
	})
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), qp.Handle); err != nil {
		t.Fatal(err)
	}
	q.requested(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.requests) > 0 {
		t.Fatal("it waits at a queue pair that has been destroyed")
	}
	if err := <-refused; err == nil {
		t.Error("it is accepted")
	}
}
