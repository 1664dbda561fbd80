package extsock_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// TestTroubleshooting: docs/troubleshooting.md has the text of each error that a program gets here,
// and each text that it has is that of such an error. "…" stands for any text.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]*regexp.Regexp)
	for line := range strings.Lines(string(page)) {
		first, _, _ := strings.Cut(line, " | ")
		if !strings.HasPrefix(first, "| `") {
			continue
		}
		for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(first, -1) {
			text := strings.Trim(span, "`")
			want[text] = regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*"))
		}
	}
	met := make(map[string]bool)
	for _, provoke := range []func(*testing.T) []error{
		startupTroubles, roleTroubles, tlsTroubles, modeTroubles, memoryTroubles, requestTroubles, messageTroubles, endTroubles, bytesTroubles, limitTroubles,
	} {
		for i, err := range provoke(t) {
			if err == nil {
				t.Fatalf("error %d is nil", i)
			}
			t.Log(err)
			known := false
			for text, re := range want {
				if re.MatchString(err.Error()) {
					known, met[text] = true, true
				}
			}
			if !known {
				t.Errorf("docs/troubleshooting.md does not have: %v", err)
			}
		}
	}
	for text := range want {
		if !met[text] {
			t.Errorf("docs/troubleshooting.md has what nothing here provokes: %s", text)
		}
	}
}

// required needs DDP mode, and does not wait for peers that do not read.
var required = extsock.Config{Startup: extsock.StartupRequire, CloseTimeout: 10 * time.Millisecond}

// troubledServer serves one connection of the kernel's TCP at the address that it returns.
func troubledServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// troubledPair connects two ends, of which the one that dials comes first.
func troubledPair(t *testing.T, dials, accepts extsock.Config) (a, b *extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &accepts)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	a, err = extsock.Dial("tcp", l.Addr().String(), &dials)
	if err != nil {
		t.Fatal(err)
	}
	b = (<-accepted).(*extsock.Conn)
	t.Cleanup(func() {
		a.Close()
		b.Close()
		a.Wait(timeLimit(t))
		b.Wait(timeLimit(t))
	})
	return a, b
}

func dialTrouble(cfg extsock.Config, address string) error {
	c, err := extsock.Dial("tcp", address, &cfg)
	if err == nil {
		c.Close()
	}
	return err
}

// acceptTrouble returns the error of the first Read of a connection whose client is the function.
func acceptTrouble(t *testing.T, cfg extsock.Config, client func(net.Conn)) error {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	client(c)
	_, err = a.Read(make([]byte, 1))
	c.Close()
	return err
}

func startupTroubles(t *testing.T) (errs []error) {
	impatient := required
	impatient.HandshakeTimeout = time.Millisecond
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	answers := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			io.ReadFull(c, make([]byte, 20))
			io.WriteString(c, text)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}
	}
	return append(errs,
		dialTrouble(required, troubledServer(t, answers("HTTP/1.1 400 Bad Request\r\n\r\n"))),
		dialTrouble(required, troubledServer(t, answers(""))),
		dialTrouble(required, troubledServer(t, func(c net.Conn) { io.Copy(c, c) })),
		dialTrouble(impatient, troubledServer(t, silent)),
		acceptTrouble(t, required, func(c net.Conn) { io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") }),
		acceptTrouble(t, required, func(c net.Conn) { c.Close() }),
		acceptTrouble(t, impatient, func(net.Conn) {}),
	)
}

func roleTroubles(t *testing.T) []error {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, JudgeRequests: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			if r, err := c.(*extsock.Conn).ReceiveRequest(timeLimit(t)); err == nil {
				r.Reject(timeLimit(t), []byte("no"))
			}
			c.Close()
		}
	}()
	return []error{dialTrouble(required, l.Addr().String())}
}

func tlsTroubles(t *testing.T) []error {
	clientTLS, serverTLS := tlsConfigs(t)
	serves, dials := required, required
	serves.TLS, dials.TLS = serverTLS, clientTLS
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &serves)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plain, err := extsock.Listen("tcp", "127.0.0.1:0", &required)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	return []error{dialTrouble(required, l.Addr().String()), dialTrouble(dials, plain.Addr().String())}
}

func modeTroubles(t *testing.T) (errs []error) {
	a, b := troubledPair(t, extsock.Config{}, extsock.Config{})
	_, err := a.Remote(extsock.Handle{Len: 8}).ReadAt(make([]byte, 8), 0)
	errs = append(errs, err, a.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 2), a.SetsockoptInt(0, 0, 1))
	b.Write([]byte("hello"))
	a.Read(make([]byte, 1))
	errs = append(errs, a.EnableDDP(timeLimit(t), nil))

	a, _ = troubledPair(t, required, required)
	errs = append(errs,
		a.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1), a.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 0),
		a.Post(&extsock.WorkRequest{Op: extsock.WorkSend, Data: []byte("x")}), a.PostRecv(extsock.RecvRequest{Buf: make([]byte, 8)}))
	return errs
}

// lent returns the peer's memory: region is of b, for a.
func lent(t *testing.T, a, b *extsock.Conn, access extsock.Access) (*extsock.RemoteMemory, extsock.Region) {
	t.Helper()
	r, err := b.Register(make([]byte, 64), access)
	if err != nil {
		t.Fatal(err)
	}
	return a.Remote(r.Handle()), r
}

func memoryTroubles(t *testing.T) (errs []error) {
	p := make([]byte, 8)
	both := func(a, b *extsock.Conn, err error) {
		_, there := b.Read(p)
		errs = append(errs, err, there)
	}
	a, b := troubledPair(t, required, required)
	m, _ := lent(t, a, b, extsock.RemoteRead)
	_, err := m.WriteAt(p, 60)
	errs = append(errs, err)
	_, err = m.FetchAdd(timeLimit(t), 4, 1)
	errs = append(errs, err)

	a, b = troubledPair(t, required, required)
	m, _ = lent(t, a, b, extsock.RemoteWrite)
	_, err = m.ReadAt(p, 0)
	both(a, b, err)

	a, b = troubledPair(t, required, required)
	m, r := lent(t, a, b, extsock.RemoteRead)
	r.Deregister()
	_, err = m.ReadAt(p, 0)
	both(a, b, err)

	a, b = troubledPair(t, required, required)
	_, r = lent(t, a, b, extsock.RemoteRead)
	h := r.Handle()
	h.Len += 64
	_, err = a.Remote(h).ReadAt(p, 64)
	both(a, b, err)

	domain := new(extsock.Domain)
	shared := extsock.Config{Startup: extsock.StartupRequire, Domain: domain}
	c, d := troubledPair(t, required, shared)
	_, r = lent(t, c, d, extsock.RemoteRead)
	a, b = troubledPair(t, required, shared)
	_, err = a.Remote(r.Handle()).ReadAt(p, 0)
	both(a, b, err)

	none := required
	none.IRD = -1
	a, b = troubledPair(t, required, none)
	m, _ = lent(t, a, b, extsock.RemoteRead)
	_, err = m.ReadAt(p, 0)
	return append(errs, err)
}

func requestTroubles(t *testing.T) (errs []error) {
	for _, sends := range []*extsock.CompletionQueue{nil, extsock.NewCompletionQueue(1 << 10)} {
		short := required
		short.SendDepth, short.SendCQ = 1, sends
		a, b := troubledPair(t, short, required)
		_, r := lent(t, a, b, extsock.RemoteWrite)
		wr := extsock.WorkRequest{Op: extsock.WorkWrite, Data: make([]byte, 8), Remote: r.Handle()}
		_, err := a.PostBatch([]extsock.WorkRequest{wr, wr, wr})
		errs = append(errs, err)
	}
	return errs
}

func messageTroubles(t *testing.T) (errs []error) {
	small := extsock.Config{Startup: extsock.StartupRequire, Messages: true, RecvSize: 16}
	a, b := troubledPair(t, required, small)
	b.Write([]byte("x"))
	a.Read(make([]byte, 1))
	_, err := a.Write(make([]byte, 17))
	errs = append(errs, err, a.CloseWrite())
	long := required
	long.PrivateData = make([]byte, 600)
	return append(errs, dialTrouble(long, troubledServer(t, func(c net.Conn) { io.Copy(io.Discard, c) })))
}

func endTroubles(t *testing.T) (errs []error) {
	p := make([]byte, 8)
	a, b := troubledPair(t, required, required)
	a.SetReadDeadline(time.Now().Add(-time.Second))
	_, err := a.Read(p)
	errs = append(errs, err)
	a.SetReadDeadline(time.Time{})
	m, _ := lent(t, a, b, extsock.RemoteRead)
	a.SetReadDeadline(time.Now().Add(-time.Second))
	_, err = m.ReadAt(p, 0)
	errs = append(errs, err)

	// A Write that the peer's program does not read.
	a, _ = troubledPair(t, required, required)
	a.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for err = nil; err == nil; {
		_, err = a.Write(make([]byte, 1<<20))
	}
	errs = append(errs, err)
	_, err = a.Write(p)
	errs = append(errs, err)

	// The peer is killed: its system closes TCP.
	a, _ = troubledByRelay(t, required, same, func(c *net.TCPConn) { c.Close() })
	_, err = a.Read(p)
	errs = append(errs, err)
	a, _ = troubledByRelay(t, required, same, func(c *net.TCPConn) {
		c.SetLinger(0)
		c.Close()
	})
	_, err = a.Read(p)
	errs = append(errs, err)
	_, err = a.Write(p)
	errs = append(errs, err)

	a, b = troubledPair(t, required, required)
	m, _ = lent(t, a, b, extsock.RemoteRead)
	b.Close()
	_, err = a.Read(p)
	if err != io.EOF {
		t.Errorf("after the peer's Close: %v", err)
	}
	_, err = m.ReadAt(p, 0)
	errs = append(errs, err)
	a.Close()
	_, err = a.Read(p)
	return append(errs, err)
}

// troubledByRelay returns a connection whose bytes a relay carries. The relay passes on what change
// makes of the bytes of a.
func troubledByRelay(t *testing.T, dials extsock.Config, change func([]byte) []byte, end func(*net.TCPConn)) (a, b *extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &required)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	started := make(chan struct{})
	front := troubledServer(t, func(c net.Conn) {
		behind, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		go io.Copy(c, behind)
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			p := make([]byte, 1<<16)
			for {
				n, err := c.Read(p)
				if err != nil {
					return
				}
				behind.Write(change(p[:n]))
			}
		}()
		<-started
		if end != nil {
			end(c.(*net.TCPConn))
		}
		<-copied
		behind.Close()
	})
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	a, err = extsock.Dial("tcp", front, &dials)
	if err != nil {
		t.Fatal(err)
	}
	b = (<-accepted).(*extsock.Conn)
	close(started)
	t.Cleanup(func() {
		a.Close()
		b.Close()
		a.Wait(timeLimit(t))
		b.Wait(timeLimit(t))
	})
	return a, b
}

func same(p []byte) []byte { return p }

// bytesTroubles: something between the two ends changes a byte.
func bytesTroubles(t *testing.T) []error {
	a, b := troubledByRelay(t, required, func(p []byte) []byte { return bytes.Replace(p, []byte("change me"), []byte("change us"), 1) }, nil)
	a.Write([]byte("change me"))
	_, there := b.Read(make([]byte, 9))
	_, here := a.Read(make([]byte, 9))
	return []error{there, here}
}

func limitTroubles(t *testing.T) []error {
	limited := required
	limited.IdleTimeout = 10 * time.Millisecond
	a, _ := troubledPair(t, limited, required)
	_, idle := a.Read(make([]byte, 1))

	limited = required
	limited.WriteTimeout = 20 * time.Millisecond
	stuck := make(chan struct{})
	defer close(stuck)
	a, b := troubledByRelay(t, limited, func(p []byte) []byte {
		if bytes.Contains(p, []byte("stop here")) {
			<-stuck
		}
		return p
	}, nil)
	memory := make([]byte, 1<<20)
	r, err := b.Register(memory, extsock.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	a.Write([]byte("stop here"))
	for err == nil {
		_, err = a.Remote(r.Handle()).WriteAt(make([]byte, len(memory)), 0)
	}
	return []error{idle, err}
}
