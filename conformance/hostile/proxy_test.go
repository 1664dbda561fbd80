package hostile

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A cutHow is a way to cut a connection.
type cutHow int

const (
	noCut   cutHow = iota
	fin            // the receiver reads a FIN; the sender's further octets are dropped; the other direction continues
	rst            // both ends get a reset
	silence        // nothing more passes in this direction, not even a FIN; the other direction continues
)

func (h cutHow) String() string { return [...]string{"no cut", "FIN", "RST", "silence"}[h] }

// faults describes the faults of one direction of a proxy. They depend on positions in the stream,
// not on how the octets arrive.
type faults struct {
	cut   cutHow
	cutAt int64 // octets that pass before the cut

	flip    bool // flips bit flipBit of octet flipAt
	flipAt  int64
	flipBit int

	pieces func() int    // the length of the next Write; nil leaves the Writes as they arrive
	splits []int64       // further positions at which Writes end, in order
	delay  time.Duration // before each Write
	rate   int           // octets per second; 0 means no limit
}

// A lane carries the octets of one direction.
type lane struct {
	faults
	from, to net.Conn
	p        *proxy
	passed   int64
	gate     sync.Mutex    // held while octets pass
	hit      bool          // the fault has happened
	muted    bool          // nothing is passed on, not even a FIN
	held     chan struct{} // nothing is read from the sender until this is closed; nil does not hold the lane
}

// A proxy connects two connections and owns both.
type proxy struct {
	there, back lane
	wg          sync.WaitGroup
}

// newProxy passes octets from a to b with the faults there, and from b to a with the faults back.
func newProxy(a, b net.Conn, there, back faults) *proxy {
	p := &proxy{there: lane{faults: there, from: a, to: b}, back: lane{faults: back, from: b, to: a}}
	for _, l := range []*lane{&p.there, &p.back} {
		l.p = p
		p.wg.Go(l.run)
	}
	return p
}

// close cuts the connections that are left and waits for the lanes.
func (p *proxy) close() {
	p.there.from.Close()
	p.there.to.Close()
	p.wg.Wait()
}

// reset resets both ends if they are TCP connections.
func (p *proxy) reset() {
	for _, c := range []net.Conn{p.there.from, p.back.from} {
		if l, ok := c.(interface{ SetLinger(int) error }); ok {
			l.SetLinger(0)
		}
		c.Close()
	}
}

// inject sends the proxy's own octets between two pieces of the stream.
func (l *lane) inject(b []byte) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	_, err := l.to.Write(b)
	return err
}

// end sends the receiver a FIN and drops everything that arrives later.
func (l *lane) end() {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.hit, l.muted = true, true
	closeWrite(l.to)
}

// mute lets nothing more pass.
func (l *lane) mute() {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.muted = true
}

// hold stops reading from the sender until release, so that its path fills up.
func (l *lane) hold() {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.held = make(chan struct{})
}

func (l *lane) release() {
	l.gate.Lock()
	defer l.gate.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

func (l *lane) run() {
	b := make([]byte, 64<<10)
	for {
		n, err := l.from.Read(b)
		if !l.pass(b[:n]) {
			return
		}
		if err != nil {
			l.gate.Lock()
			defer l.gate.Unlock()
			switch {
			case l.muted:
			case errors.Is(err, io.EOF):
				closeWrite(l.to)
			case !errors.Is(err, net.ErrClosed):
				l.p.reset() // it was reset on one side
			}
			return
		}
	}
}

// pass passes octets on. It reports false after a cut of the whole connection.
func (l *lane) pass(b []byte) bool {
	l.gate.Lock()
	held := l.held
	l.gate.Unlock()
	if held != nil {
		<-held
	}
	l.gate.Lock()
	defer l.gate.Unlock()
	for len(b) > 0 && !l.muted {
		n := len(b)
		if l.pieces != nil {
			n = min(n, l.pieces())
		}
		for len(l.splits) > 0 && l.splits[0] <= l.passed {
			l.splits = l.splits[1:]
		}
		if len(l.splits) > 0 {
			n = int(min(int64(n), l.splits[0]-l.passed))
		}
		if l.cut != noCut {
			n = int(min(int64(n), l.cutAt-l.passed))
		}
		if l.flip && l.passed <= l.flipAt && l.flipAt < l.passed+int64(n) {
			b[l.flipAt-l.passed] ^= 1 << l.flipBit
			l.hit = true
		}
		l.wait(n)
		if n > 0 {
			if _, err := l.to.Write(b[:n]); err != nil {
				l.muted = true // the other lane reports why
				break
			}
		}
		l.passed += int64(n)
		b = b[n:]
		if l.cut != noCut && l.passed == l.cutAt && !l.cutNow() {
			return false
		}
	}
	return true
}

// cutNow cuts the lane and reports whether it still has something to do.
func (l *lane) cutNow() bool {
	l.hit = true
	switch l.cut {
	case fin:
		closeWrite(l.to)
	case rst:
		l.p.reset()
		return false
	}
	l.muted = true // until the end the sender's octets are read and dropped
	return true
}

func (l *lane) wait(n int) {
	d := l.delay
	if l.rate > 0 {
		d += time.Duration(n) * time.Second / time.Duration(l.rate)
	}
	if d > 0 {
		time.Sleep(d) // this is the slow path's delay, not a wait for something
	}
}

func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
	}
}

// A socketPairs makes pairs of TCP connections over loopback.
type socketPairs struct {
	l  net.Listener
	mu sync.Mutex // one dial and accept at a time, so that they match
}

func newSocketPairs(t testing.TB) *socketPairs {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &socketPairs{l: l}
}

func (s *socketPairs) pair() (a, b *net.TCPConn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := net.DialTimeout("tcp", s.l.Addr().String(), 10*time.Second)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.l.Accept()
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c.(*net.TCPConn), d.(*net.TCPConn), nil
}
