//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/tlsfiles"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// superviseListen is the name of a supervisor that takes over listeners. Its first argument is the
// rule.
const superviseListen = "supervise-listen"

// Variables of the environment of such a supervisor.
const (
	envIdentity = "RDDP_TEST_IDENTITY" // files with a certificate and its key, for TLS
	envPins     = "RDDP_TEST_PINS"     // the pin of the clients
	envPlainToo = "RDDP_TEST_PLAIN_TOO"
	envInsecure = "RDDP_TEST_INSECURE"
	envTrust    = "RDDP_TEST_TRUST" // the pin of the server
	envBegin    = "RDDP_TEST_BEGIN" // each peer begins sooner or later; on a busy machine it may be later than is usual
)

func init() {
	programs["accept-echo"], programs["accept-blocks"], programs["accept-signal"] = acceptEchoProgram, acceptBlocksProgram, acceptSignalProgram
	programs["connect-twice"] = connectTwiceProgram
	programs["accept-full"], programs["accept-greet"], programs["accept-late"] = acceptFullProgram, acceptGreetProgram, acceptLateProgram
}

// secureByEnvironment configures TLS from the environment.
func secureByEnvironment(cfg *Config) (err error) {
	cfg.PlainToo, cfg.Insecure = os.Getenv(envPlainToo) != "", os.Getenv(envInsecure) != ""
	var pins []tlsfiles.Pin
	if s := os.Getenv(envPins); s != "" {
		p, err := tlsfiles.ParsePin(s)
		if err != nil {
			return err
		}
		pins = append(pins, p)
	}
	if cert, key, ok := strings.Cut(os.Getenv(envIdentity), ":"); ok {
		if cfg.ServerTLS, err = (tlsfiles.Server{Identity: tlsfiles.Identity{Cert: cert, Key: key}, Pins: pins}).Config(); err != nil {
			return err
		}
	}
	if s := os.Getenv(envTrust); s != "" {
		p, err := tlsfiles.ParsePin(s)
		if err != nil {
			return err
		}
		cfg.ClientTLS, err = tlsfiles.Client{Pins: []tlsfiles.Pin{p}}.Config()
		return err
	}
	return nil
}

// A listening is a program under a supervisor that takes over its listeners.
type listening struct {
	cmd     *exec.Cmd
	log     bytes.Buffer
	out     *bufio.Reader
	stdin   io.WriteCloser
	address string
}

// silent is an environment for startListening if peers wait for the program to speak first.
const silent = envBegin + "="

// startListening starts one of the programs of this file, which prints its address, and ends when
// its standard input does.
func startListening(t testing.TB, env []string, name string, args ...string) *listening {
	t.Helper()
	l := &listening{cmd: under(append([]string{":1-65535"}, performance(t, name, args...)...)...)}
	l.cmd.Args[0], l.cmd.Stderr, l.cmd.Env = superviseListen, &l.log, slices.Concat(os.Environ(), []string{envBegin + "=1"}, env)
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(prototest.Patience(t), func() { _ = l.cmd.Process.Kill() }) // the test then fails
	l.out = bufio.NewReader(out)
	l.address = l.line(t)
	t.Cleanup(func() {
		overdue.Stop()
		if l.cmd.ProcessState == nil {
			_ = l.cmd.Process.Kill() // the test has failed already
			_ = l.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("log:\n%s", l.log.Bytes())
		}
	})
	return l
}

// line returns the next line that the program prints.
func (l *listening) line(t testing.TB) string {
	t.Helper()
	s, err := l.out.ReadString('\n')
	if err != nil {
		_ = l.cmd.Wait()
		t.Fatalf("%v; the log:\n%s", err, l.log.Bytes())
	}
	return strings.TrimSpace(s)
}

// end ends the program and checks its supervisor's counts.
func (l *listening) end(t testing.TB, want string) {
	t.Helper()
	l.stdin.Close()
	if err := l.cmd.Wait(); err != nil || !strings.Contains(l.log.String(), want) {
		t.Fatalf("%v; want %q in the log:\n%s", err, want, l.log.Bytes())
	}
}

// untilInput ends the program when its standard input ends.
func untilInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// acceptEchoProgram sends back what it receives, and prints the addresses of each connection.
func acceptEchoProgram(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go untilInput()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Println(c.RemoteAddr(), c.LocalAddr())
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c) // the client checks the echo
		}()
	}
}

// A dialFunc dials an address.
type dialFunc func(ctx context.Context, address string) (net.Conn, error)

func plainClient(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func ddpClient(ctx context.Context, address string) (net.Conn, error) {
	c, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// talk sends bytes to an echo server and checks what comes back.
func talk(c net.Conn, size int) error {
	defer c.Close()
	sent := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
	var sending sync.WaitGroup
	var sendErr error
	sending.Go(func() {
		if _, sendErr = c.Write(sent); sendErr == nil {
			sendErr = c.(interface{ CloseWrite() error }).CloseWrite()
		}
	})
	got, err := io.ReadAll(c)
	sending.Wait()
	if err == nil && !bytes.Equal(got, sent) {
		err = fmt.Errorf("%d bytes came back, not the %d that were sent", len(got), len(sent))
	}
	return errors.Join(err, sendErr)
}

// TestAccept runs programs that accept connections over DDP and in plain TCP on one port.
func TestAccept(t *testing.T) {
	const both = "ddp=1 plain=1 untouched=0"
	for _, c := range []struct {
		desc, program, listen string
		size                  int
		clients               []dialFunc
		want                  string
	}{
		{"both", "accept-echo", "127.0.0.1:0", 1000, []dialFunc{ddpClient, plainClient}, both},
		{"nothing", "accept-echo", "127.0.0.1:0", 0, []dialFunc{ddpClient, plainClient}, both},
		{"long streams", "accept-echo", "127.0.0.1:0", 16 << 20, []dialFunc{ddpClient, plainClient}, both},
		{"an accept that blocks", "accept-blocks", "127.0.0.1:0", 1000, []dialFunc{ddpClient, plainClient, ddpClient}, "ddp=2 plain=1 untouched=0"},
		{"IPv6", "accept-echo", "[::1]:0", 1000, []dialFunc{ddpClient, plainClient}, both},
		{"the server speaks first", "accept-greet", "127.0.0.1:0", 0, []dialFunc{ddpClient, plainClient}, both},
	} {
		t.Run(c.desc, func(t *testing.T) {
			if c.listen[0] == '[' && !hasIPv6() {
				t.Skip("no IPv6 on this machine") // the kernel has none to take over
			}
			var env []string
			if c.program == "accept-greet" {
				env = []string{silent}
			}
			l := startListening(t, env, c.program, c.listen)
			for _, dial := range c.clients {
				conn, err := dial(t.Context(), l.address)
				if err != nil {
					t.Fatal(err)
				}
				if c.program == "accept-greet" {
					if b, err := io.ReadAll(io.LimitReader(conn, 5)); err != nil || string(b) != "hello" {
						t.Errorf("the greeting is %q, %v", b, err)
					}
				}
				local, remote := conn.LocalAddr(), conn.RemoteAddr()
				if err := talk(conn, c.size); err != nil {
					t.Error(err)
				}
				if got, want := l.line(t), fmt.Sprint(local, " ", remote); got != want {
					t.Errorf("the program sees %s, want %s", got, want)
				}
			}
			l.end(t, c.want)
		})
	}
}

// acceptGreetProgram is acceptEchoProgram for a service that speaks first.
func acceptGreetProgram(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go untilInput()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Println(c.RemoteAddr(), c.LocalAddr())
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		_, _ = io.Copy(c, c) // the client checks the echo
		c.Close()
	}
}

// listenBlocking listens with a socket whose accept blocks, and prints its address.
func listenBlocking(at string) (int, error) {
	a := netip.MustParseAddrPort(at)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}), unix.Listen(fd, 16)); err != nil {
		return -1, err
	}
	local, err := localAddress(fd)
	fmt.Println(local)
	return fd, err
}

// acceptBlocksProgram accepts with a blocking call, and serves one client after the other.
func acceptBlocksProgram(args []string) error {
	l, err := listenBlocking(args[0])
	if err != nil {
		return err
	}
	return serveBlocking(l)
}

func serveBlocking(l int) error {
	go untilInput()
	for {
		fd, from, err := unix.Accept(l)
		if err != nil {
			return err
		}
		if blocks, err := isBlocking(l); err != nil || !blocks {
			return fmt.Errorf("the listener has turned nonblocking: %v", err)
		}
		if blocks, err := isBlocking(fd); err != nil || !blocks {
			return fmt.Errorf("the connection does not block: %v", err)
		}
		f := os.NewFile(uintptr(fd), "connection")
		c, err := net.FileConn(f)
		if err != nil {
			return err
		}
		f.Close()
		if got := c.RemoteAddr().(*net.TCPAddr).Port; got != from.(*unix.SockaddrInet4).Port {
			return fmt.Errorf("accept says port %d, and getpeername %d", from.(*unix.SockaddrInet4).Port, got)
		}
		fmt.Println(c.RemoteAddr(), c.LocalAddr())
		_, _ = io.Copy(c, c) // the client checks the echo
		c.Close()
	}
}

// acceptLateProgram is acceptBlocksProgram, but accepts only on request.
func acceptLateProgram(args []string) error {
	l, err := listenBlocking(args[0])
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return err
	}
	return serveBlocking(l)
}

// TestAcceptTooLate: a peer that has given up, to come back in plain TCP, is not accepted.
func TestAcceptTooLate(t *testing.T) {
	l := startListening(t, nil, "accept-late", "127.0.0.1:0")
	gone, err := plainClient(t.Context(), l.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Write(request); err != nil {
		t.Fatal(err)
	}
	gone.Close()
	c, err := plainClient(t.Context(), l.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("0")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.stdin.Write([]byte("0")); err != nil {
		t.Fatal(err)
	}
	if got, want := l.line(t), fmt.Sprint(c.LocalAddr(), " ", l.address); got != want {
		t.Errorf("the program accepts %s first, want %s", got, want)
	}
	c.Close()
	l.end(t, "ddp=0 plain=1 untouched=0")
}

// TestAcceptInPieces: the first bytes of a connection could be the beginning of a Request, but the
// next ones show that they are not.
func TestAcceptInPieces(t *testing.T) {
	l := startListening(t, []string{silent}, "accept-echo", "127.0.0.1:0")
	c, err := plainClient(t.Context(), l.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("MPA")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(io.LimitReader(c, 3)); err != nil || string(b) != "MPA" {
		t.Fatalf("%q came back, %v", b, err)
	}
	if err := talk(c, 10); err != nil {
		t.Error(err)
	}
	if got, want := l.line(t), fmt.Sprint(c.LocalAddr(), " ", l.address); got != want {
		t.Errorf("the program sees %s, want %s", got, want)
	}
	l.end(t, "ddp=0 plain=1 untouched=0")
}

// TestAcceptMany makes many connections of both kinds at the same time.
func TestAcceptMany(t *testing.T) {
	l := startListening(t, nil, "accept-echo", "127.0.0.1:0")
	talkMany(t, l, 50)
	l.end(t, "ddp=50 plain=50 untouched=0")
}

// talkMany makes n connections over DDP and n in plain TCP at the same time.
func talkMany(t *testing.T, l *listening, n int) {
	t.Helper()
	conns, errs := make([]net.Conn, 2*n), make([]error, 2*n)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { conns[i], errs[i] = []dialFunc{ddpClient, plainClient}[i%2](t.Context(), l.address) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, c := range conns {
		all.Go(func() { errs[i] = talk(c, 10_000) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// TestBothEnds runs each end of the connections under a supervisor of its own.
func TestBothEnds(t *testing.T) {
	l := startListening(t, nil, "accept-echo", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, l.address, &log, "tcp-echo", "20", "10000"), &log, "ddp=20 plain=0 untouched=0")
	l.end(t, "ddp=20 plain=0 untouched=0")
}

// acceptSignalProgram handles a signal that arrives while accept waits. accept then continues.
func acceptSignalProgram(args []string) error {
	l, err := listenBlocking(args[0])
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	tid, accepted := make(chan int), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		_, _, err := unix.Accept(l)
		accepted <- err
	}()
	thread := <-tid
	waitInCall(thread, unix.SYS_ACCEPT, unix.SYS_ACCEPT4)
	if err := unix.Tgkill(os.Getpid(), thread, unix.SIGUSR1); err != nil {
		return err
	}
	<-signals
	fmt.Println("signal")
	return <-accepted
}

// waitInCall waits until a thread is in one of the given system calls, which must be long ones.
func waitInCall(tid int, calls ...int) {
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		number, _, _ := strings.Cut(string(b), " ")
		if n, e := strconv.Atoi(number); err == nil && e == nil && slices.Contains(calls, n) {
			return
		}
		runtime.Gosched()
	}
}

func TestAcceptAndSignal(t *testing.T) {
	l := startListening(t, nil, "accept-signal", "127.0.0.1:0")
	if got := l.line(t); got != "signal" {
		t.Fatal(got)
	}
	c, err := plainClient(t.Context(), l.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	l.end(t, "ddp=0 plain=1 untouched=0")
}

// acceptFullProgram has no free descriptor when a connection arrives, and later has one.
func acceptFullProgram(args []string) error {
	l, err := listenBlocking(args[0])
	if err != nil {
		return err
	}
	var limit, full unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	full = unix.Rlimit{Cur: uint64(l + 1), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
		return err
	}
	for range 2 {
		if fd, _, err := unix.Accept(l); err != unix.EMFILE {
			return fmt.Errorf("accept returns %d, %v", fd, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	fd, _, err := unix.Accept(l)
	if err != nil {
		return err
	}
	b := make([]byte, 100)
	n, err := unix.Read(fd, b)
	if err == nil {
		_, err = unix.Write(fd, b[:n])
	}
	return errors.Join(err, unix.Close(fd))
}

// TestAcceptWithoutDescriptor: a connection waits until the program has a free descriptor.
func TestAcceptWithoutDescriptor(t *testing.T) {
	for kind, dial := range map[string]dialFunc{"ddp=1 plain=0": ddpClient, "ddp=0 plain=1": plainClient} {
		l := startListening(t, nil, "accept-full", "127.0.0.1:0")
		c, err := dial(t.Context(), l.address)
		if err != nil {
			t.Fatal(err)
		}
		if err := talk(c, 10); err != nil {
			t.Fatal(err)
		}
		l.end(t, kind+" untouched=0")
	}
}

// TestListenerUntouched listens where other hosts could connect, which needs the user's permission.
func TestListenerUntouched(t *testing.T) {
	l := startListening(t, nil, "accept-echo", "0.0.0.0:0")
	address := "127.0.0.1" + l.address[strings.LastIndexByte(l.address, ':'):]
	if c, err := ddpClient(t.Context(), address); err == nil {
		c.Close()
		t.Error("it speaks DDP")
	}
	l.end(t, "ddp=0 plain=0 untouched=0")
	if !bytes.Contains(l.log.Bytes(), []byte(errBeyond.Error())) {
		t.Error("no reason in the log")
	}
	insecure := startListening(t, []string{envInsecure + "=1"}, "accept-echo", "0.0.0.0:0")
	c, err := ddpClient(t.Context(), "127.0.0.1"+insecure.address[strings.LastIndexByte(insecure.address, ':'):])
	if err != nil {
		t.Fatal(err)
	}
	if err := talk(c, 10); err != nil {
		t.Error(err)
	}
	insecure.end(t, "ddp=1 plain=0 untouched=0")
}

// TestAcceptOfKilledProgram kills a program in accept: its port is free at once, and its peers see
// the connection end.
func TestAcceptOfKilledProgram(t *testing.T) {
	l := startListening(t, nil, "accept-blocks", "127.0.0.1:0")
	c, err := ddpClient(t.Context(), l.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	l.line(t)
	pid := onlyChild(t, onlyChild(t, l.cmd.Process.Pid)) // between the two is the guardian
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(prototest.Deadline(t))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the peer sees no end")
	}
	c.Close() // the supervisor waits for it, unless the program has left bytes unread
	_ = l.cmd.Wait()
	if s := l.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != unix.SIGKILL {
		t.Errorf("the supervisor ends with %v", l.cmd.ProcessState)
	}
	again, err := net.Listen("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// onlyChild returns the only child of a process. Each thread has its own list of children, and any
// thread may have started the child.
func onlyChild(t *testing.T, parent int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range lists {
		b, _ := os.ReadFile(name) // a thread that has ended has no list
		all = append(all, strings.Fields(string(b))...)
	}
	if len(all) != 1 {
		t.Fatalf("process %d has the children %q, want one", parent, all)
	}
	pid, err := strconv.Atoi(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// request is an MPA Request in which everything but the key is wrong.
var request = append([]byte("MPA ID Req Frame"), 0xff, 0xff, 0xff, 0xff)

// TestHostileArrivals: a peer that breaks the rules loses only its own connection.
func TestHostileArrivals(t *testing.T) {
	l := startListening(t, []string{silent}, "accept-echo", "127.0.0.1:0")
	var held []net.Conn
	for _, begin := range [][]byte{nil, request[:3], request[:15], request[:16], request[:18], request, {0x16, 3, 1}} {
		for range 5 {
			c, err := plainClient(t.Context(), l.address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write(begin); err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
		}
		gone, err := plainClient(t.Context(), l.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = gone.Write(begin)
		abort(gone.(*net.TCPConn))
	}
	talkMany(t, l, 10)
	for _, c := range held[25:30] { // the whole Request
		c.SetDeadline(prototest.Deadline(t))
		if n, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) || n > 0 {
			t.Errorf("after a wrong Request %d bytes come, %v", n, err)
		}
	}
	l.stdin.Close()
	if err := l.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// identity writes a certificate and its key, and returns the file names in the form of envIdentity,
// and the pin.
func identity(t *testing.T) (files string, own *tls.Certificate, pin tlsfiles.Pin) {
	t.Helper()
	own, pin, err := tlsfiles.Self()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: own.Leaf.Raw}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert") + ":" + filepath.Join(dir, "key"), own, pin
}

func tlsClient(own *tls.Certificate) dialFunc {
	return func(ctx context.Context, address string) (net.Conn, error) {
		cfg := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the server is what is tested
		if own != nil {
			cfg.Certificates = []tls.Certificate{*own}
		}
		c, err := (&extsock.Dialer{Config: &extsock.Config{TLS: cfg}}).DialDDP(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// TestAcceptTLS: with TLS, a peer without TLS reaches the program only if that is allowed, and a
// peer without the right certificate never does.
func TestAcceptTLS(t *testing.T) {
	files, _, pin := identity(t)
	_, mine, minePin := identity(t)
	_, other, _ := identity(t)
	for _, c := range []struct {
		desc             string
		env              []string
		good, bad, plain dialFunc // bad and plain are refused
		want             string
	}{
		{"any client", nil, tlsClient(nil), ddpClient, plainClient, "ddp=1 plain=0"},
		{"a client with a pin", []string{envPins + "=" + minePin.String()}, tlsClient(mine), tlsClient(other), plainClient, "ddp=1 plain=0"},
		{"plain too", []string{envPlainToo + "=1"}, plainClient, ddpClient, nil, "ddp=0 plain=1"},
	} {
		t.Run(c.desc, func(t *testing.T) {
			l := startListening(t, append(c.env, envIdentity+"="+files), "accept-echo", "127.0.0.1:0")
			for _, dial := range []dialFunc{c.bad, c.plain} {
				if dial == nil {
					continue
				}
				conn, err := dial(t.Context(), l.address)
				if err != nil {
					continue
				}
				conn.SetDeadline(prototest.Deadline(t))
				if err := talk(conn, 1000); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a bad client gets through: %v", err)
				}
			}
			conn, err := c.good(t.Context(), l.address)
			if err != nil {
				t.Fatal(err)
			}
			if err := talk(conn, 1000); err != nil {
				t.Error(err)
			}
			if got, want := l.line(t), fmt.Sprint(conn.LocalAddr(), " ", l.address); got != want {
				t.Errorf("the program accepts %s first, want %s", got, want)
			}
			l.end(t, c.want+" untouched=0")
		})
	}
	t.Run("both ends", func(t *testing.T) {
		l := startListening(t, []string{envIdentity + "=" + files}, "accept-echo", "127.0.0.1:0")
		var log bytes.Buffer
		c := underTCP(t, l.address, &log, "tcp-echo", "5", "10000")
		c.Env = append(os.Environ(), envTrust+"="+pin.String())
		mustSucceed(t, c, &log, "ddp=5 plain=0 untouched=0")
		log.Reset()
		c = underTCP(t, l.address, &log, "tcp-errno", strconv.Itoa(int(unix.ECONNREFUSED)))
		c.Env = append(os.Environ(), envTrust+"="+minePin.String())
		mustSucceed(t, c, &log, "connection refused")
		l.end(t, "ddp=5 plain=0 untouched=0")
	})
}

// TestTLSIsNotGivenUp connects with TLS to a peer in plain TCP, and from a socket that cannot be
// taken over.
func TestTLSIsNotGivenUp(t *testing.T) {
	_, _, pin := identity(t)
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	trust := append(os.Environ(), envTrust+"="+pin.String())
	for _, address := range []string{echo, serveWithoutTLS(t)} {
		c := underTCP(t, address, &log, "tcp-errno", strconv.Itoa(int(unix.ECONNREFUSED)))
		c.Env = trust
		mustSucceed(t, c, &log, "ddp=0 plain=0 untouched=0")
		log.Reset()
	}
	c := underTCP(t, echo, &log, "tcp-bound", "127.0.0.1")
	c.Env = trust
	if err := c.Run(); err == nil || !strings.Contains(log.String(), "ddp=0 plain=0 untouched=1") {
		t.Errorf("%v; the log:\n%s", err, log.Bytes())
	}
	log.Reset()
	c = underTCP(t, serveWithoutTLS(t), &log, "tcp-echo", "2", "1000")
	c.Env = append(trust, envPlainToo+"=1")
	mustSucceed(t, c, &log, "ddp=0 plain=2 untouched=0")
}

// connectTwiceProgram connects a socket in two threads at once; both must be refused.
func connectTwiceProgram(args []string) error {
	to := netip.MustParseAddrPort(args[0])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	connected := make(chan error)
	for range 2 {
		tid := make(chan int)
		go func() {
			runtime.LockOSThread()
			tid <- unix.Gettid()
			connected <- unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
		}()
		waitInCall(<-tid, unix.SYS_CONNECT)
	}
	fmt.Println("twice")
	for range 2 {
		if err := <-connected; err != unix.ECONNREFUSED {
			return fmt.Errorf("connect: %v, want %v", err, unix.ECONNREFUSED)
		}
	}
	return nil
}

// TestTLSIsNotGivenUpByTwo: a connect that waits for another connect of the same socket is refused
// together with it. Before Linux 5.19, the other one may be the same call, repeated after a signal.
func TestTLSIsNotGivenUpByTwo(t *testing.T) {
	_, _, pin := identity(t)
	both := make(chan struct{})
	address := tcptest.Serve(t, func(c *net.TCPConn) {
		<-both
		_, _ = c.Write([]byte("Bad request\n")) // the client checks the answer
		_, _ = io.Copy(io.Discard, c)
	})
	var log bytes.Buffer
	c := underTCP(t, address, &log, "connect-twice")
	c.Env = append(os.Environ(), envTrust+"="+pin.String())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // Wait reports an error too
	close(both)
	if err := c.Wait(); err != nil || line != "twice\n" || !strings.Contains(log.String(), "ddp=0 plain=0 untouched=0") {
		t.Errorf("%q, %v; the log:\n%s", line, err, log.Bytes())
	}
}

// serveWithoutTLS starts an echo server that does not answer a ClientHello with TLS. It returns its
// address.
func serveWithoutTLS(t *testing.T) string {
	return tcptest.Serve(t, func(c *net.TCPConn) {
		b := make([]byte, 1000)
		n, err := io.ReadFull(c, b)
		if n == 0 || err != nil {
			return
		}
		if b[0] == 0x16 {
			b = []byte("Bad request\n")
		}
		_, _ = c.Write(b) // the client checks the answer
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		begin       string
		open, under protocol // without TLS, and with
	}{
		{"MPA ID Req Frame", overMPA, overMPA},
		{"MPA ID Req Fram", unknown, unknown},
		{"M", unknown, unknown},
		{"MPA ID Rep Frame", plain, plain},
		{"GET / HTTP/1.1\r\n", plain, plain},
		{"\x16\x03\x01", plain, overTLS},
		{"\x16", plain, unknown},
		{"\x16\x02", plain, plain},
	} {
		if got := judge([]byte(c.begin), false); got != c.open {
			t.Errorf("%q is %v without TLS, want %v", c.begin, got, c.open)
		}
		if got := judge([]byte(c.begin), true); got != c.under {
			t.Errorf("%q is %v with TLS, want %v", c.begin, got, c.under)
		}
	}
}

// FuzzJudge: a decision about the first bytes does not change when more arrive.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("MPA ID Req Frame"), true)
	f.Add([]byte("\x16\x03\x01\x02"), true)
	f.Add([]byte("MPA"), false)
	f.Fuzz(func(t *testing.T, b []byte, secure bool) {
		all := judge(b, secure)
		for n := 1; n < len(b); n++ {
			if got := judge(b[:n], secure); got != unknown && got != all {
				t.Errorf("%q is %v, and its first %d bytes are %v", b, all, n, got)
			}
		}
		if len(b) >= 16 && all == unknown {
			t.Errorf("%q is not decided", b)
		}
	})
}

// FuzzParseSockaddr: parsing a socket address and formatting it again yields the same bytes.
func FuzzParseSockaddr(f *testing.F) {
	f.Add(appendAddress(nil, netip.MustParseAddrPort("127.0.0.1:80"), unix.AF_INET))
	f.Add(appendAddress(nil, netip.MustParseAddrPort("[::1]:80"), unix.AF_INET6))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := parseAddress(b)
		if !ok {
			return
		}
		domain := unix.AF_INET6
		if a.Addr().Is4() {
			domain = unix.AF_INET
		}
		if again, ok := parseAddress(appendAddress(nil, a, domain)); !ok || again != a {
			t.Errorf("%x is %v, and then %v", b, a, again)
		}
	})
}
