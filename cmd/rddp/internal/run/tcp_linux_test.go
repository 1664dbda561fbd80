//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// superviseTCP is the name of a supervisor that takes over outgoing connections. Its first argument
// is the rule.
const superviseTCP = "supervise-tcp"

func init() {
	programs["tcp-here"] = tcpHereProgram
	programs["tcp-echo"], programs["tcp-errno"], programs["tcp-bound"] = tcpEchoProgram, tcpErrnoProgram, tcpBoundProgram
	programs["tcp-hold"], programs["tcp-blocks"], programs["tcp-anew"] = tcpHoldProgram, tcpBlocksProgram, tcpAnewProgram
}

func superviseConnections(as string) (int, error) {
	r, err := rules.Parse(os.Args[1])
	if err != nil {
		return 0, err
	}
	cfg := Config{
		Args: os.Args[2:], Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, TCPTimeout: time.Minute, // no machine is that busy
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if as == superviseListen {
		cfg.TCPListen = []rules.Rule{r}
	} else {
		cfg.TCP = []rules.Rule{r}
	}
	if os.Getenv("PLAIN") != "" {
		cfg.TCPTimeout = time.Millisecond // the peer never speaks DDP
	}
	if os.Getenv(envBegin) != "" {
		cfg.sniffFor = time.Minute // as above
	}
	if err := secureByEnvironment(&cfg); err != nil {
		return 0, err
	}
	return Run(context.Background(), cfg)
}

// underTCP returns a command that runs one of the test programs under a supervisor that takes over
// its connections to an address. log gets the output of the supervisor and the program.
func underTCP(t testing.TB, address string, log *bytes.Buffer, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := under(append([]string{address}, performance(t, name, append([]string{address}, args...)...)...)...)
	c.Args[0], c.Stderr = superviseTCP, log
	return c
}

// mustSucceed runs a command and shows its log if it fails, or if the log lacks a line.
func mustSucceed(t *testing.T, c *exec.Cmd, log *bytes.Buffer, want string) {
	t.Helper()
	if err := c.Run(); err != nil || !bytes.Contains(log.Bytes(), []byte(want)) {
		t.Fatalf("%v; want %q in the log:\n%s", err, want, log)
	}
}

// serveEcho starts a TCP server that sends back what it receives, and half-closes when its client
// does. It returns its address, and a channel with the result of each connection.
func serveEcho(t *testing.T, network, address string) (string, <-chan error) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 4096)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, err := io.Copy(c, c)
				ended <- err
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String(), ended
}

// serveExit starts the exit of a proxy in front of a server, and returns its address.
func serveExit(t *testing.T, listen, to string) string {
	t.Helper()
	p, err := proxy.Listen(t.Context(), proxy.Address{DDP: true, Network: "tcp", Address: listen},
		proxy.Address{Network: "tcp", Address: to}, &proxy.Config{MaxConns: 4096, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return p.Addr().Address
}

// tcpEchoProgram makes simultaneous connections to an echo server, and checks what comes back.
func tcpEchoProgram(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	conns := make([]net.Conn, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { conns[i], errs[i] = net.Dial("tcp", args[0]) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, c := range conns {
		all.Go(func() { errs[i] = echoOnce(c, args[0], size) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func echoOnce(c net.Conn, address string, size int) error {
	defer c.Close()
	if c.RemoteAddr().String() != address {
		return fmt.Errorf("the peer is %v, not %s", c.RemoteAddr(), address)
	}
	sent := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(sent)
	var sending sync.WaitGroup
	var sendErr error
	sending.Go(func() {
		if _, sendErr = c.Write(sent); sendErr == nil {
			sendErr = c.(*net.TCPConn).CloseWrite()
		}
	})
	got, err := io.ReadAll(c)
	sending.Wait()
	if err == nil && !bytes.Equal(got, sent) {
		err = fmt.Errorf("%d bytes came back, not the %d that were sent", len(got), len(sent))
	}
	return errors.Join(err, sendErr)
}

// TestTCP carries connections of a program with nonblocking sockets over DDP.
func TestTCP(t *testing.T) {
	for _, c := range []struct {
		desc, listen string
		conns, size  int
	}{
		{"one byte", "127.0.0.1:0", 1, 1},
		{"nothing", "127.0.0.1:0", 1, 0},
		{"a long stream", "127.0.0.1:0", 1, 32 << 20},
		{"IPv6", "[::1]:0", 2, 1000},
		{"many at a time", "127.0.0.1:0", 100, 10_000},
	} {
		t.Run(c.desc, func(t *testing.T) {
			if c.listen[0] == '[' && !hasIPv6() {
				t.Skip("no IPv6 on this machine") // the kernel has none to take over
			}
			echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
			var log bytes.Buffer
			cmd := underTCP(t, serveExit(t, c.listen, echo), &log, "tcp-echo", strconv.Itoa(c.conns), strconv.Itoa(c.size))
			mustSucceed(t, cmd, &log, fmt.Sprintf(`"TCP connections" ddp=%d plain=0 untouched=0`, c.conns))
		})
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// tcpBlocksProgram connects with a blocking call, and checks the addresses.
func tcpBlocksProgram(args []string) error {
	to := netip.MustParseAddrPort(args[0])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	peer := &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	if err := unix.Connect(fd, peer); err != nil {
		return err
	}
	if err := unix.Connect(fd, peer); err != unix.EISCONN {
		return fmt.Errorf("a second connect: %v", err)
	}
	if a, err := unix.Getpeername(fd); err != nil || a.(*unix.SockaddrInet4).Port != peer.Port {
		return fmt.Errorf("the peer is %v, %v", a, err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		return fmt.Errorf("the socket has turned nonblocking: %x, %v", flags, err)
	}
	c, err := net.FileConn(os.NewFile(uintptr(fd), "socket"))
	if err != nil {
		return err
	}
	return echoOnce(c, args[0], 1<<20)
}

func TestTCPThatBlocks(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-blocks"), &log, `ddp=1 plain=0 untouched=0`)
}

// tcpAnewProgram connects one socket again and again, and ends each connection by a connect to
// AF_UNSPEC.
func tcpAnewProgram(args []string) error {
	to := netip.MustParseAddrPort(args[0])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var none unix.RawSockaddrInet4 // AF_UNSPEC
	for i := range n {
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}); err != nil {
			return fmt.Errorf("connect %d: %w", i, err)
		}
		b := []byte{byte(i)}
		if _, err := unix.Write(fd, b); err != nil {
			return err
		}
		if n, err := unix.Read(fd, b); n != 1 || b[0] != byte(i) {
			return fmt.Errorf("connection %d: %d bytes, %x, %w", i, n, b, err)
		}
		if _, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none)); e != 0 {
			return fmt.Errorf("the end of connection %d: %w", i, e)
		}
	}
	return nil
}

// TestTCPAnew connects a socket again while its last connection is still ending.
func TestTCPAnew(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-anew", "20"), &log, `ddp=20 plain=0 untouched=0`)
}

// TestTCPWithPlainPeer connects twice to a peer that answers, but not in DDP.
func TestTCPWithPlainPeer(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, echo, &log, "tcp-echo", "2", "100000"), &log, `ddp=0 plain=2 untouched=0`)
}

// TestTCPWithSilentPeer connects to a peer that does not answer.
func TestTCPWithSilentPeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var log bytes.Buffer
	c := underTCP(t, l.Addr().String(), &log, "tcp-errno", "0")
	c.Env = append(os.Environ(), "PLAIN=1")
	mustSucceed(t, c, &log, `ddp=0 plain=1 untouched=0`)
}

// tcpErrnoProgram expects that connect fails with a given error, or succeeds.
func tcpErrnoProgram(args []string) error {
	c, err := net.Dial("tcp", args[0])
	if err == nil {
		c.Close()
	}
	var got syscall.Errno
	errors.As(err, &got)
	if fmt.Sprint(int(got)) != args[1] {
		return fmt.Errorf("error %d, %v; want %s", int(got), err, args[1])
	}
	return nil
}

// TestTCPThatIsRefused connects to a port where nobody listens, and to the exit of a proxy for such
// a port.
func TestTCPThatIsRefused(t *testing.T) {
	nobody := prototest.ClosedPort(t)
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, nobody, &log, "tcp-errno", strconv.Itoa(int(syscall.ECONNREFUSED))), &log, "refused")
	log.Reset()
	c := underTCP(t, serveExit(t, "127.0.0.1:0", nobody), &log, "tcp-errno", strconv.Itoa(int(syscall.ECONNREFUSED)))
	mustSucceed(t, c, &log, "the peer rejects the connection")
}

// tcpBoundProgram binds its address, or only its port, before it connects.
func tcpBoundProgram(args []string) error {
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(args[1])}}).Dial("tcp", args[0])
	if err != nil {
		return err
	}
	return echoOnce(c, args[0], 1000)
}

// tcpHereProgram connects to the unspecified address, which means loopback.
func tcpHereProgram(args []string) error {
	_, port, err := net.SplitHostPort(args[0])
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", net.JoinHostPort("0.0.0.0", port))
	if err != nil {
		return err
	}
	return echoOnce(c, args[0], 1000)
}

// TestTCPToNoAddress connects to 0.0.0.0, to which a rule for 127.0.0.1 applies.
func TestTCPToNoAddress(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-here"), &log, `ddp=1 plain=0 untouched=0`)
}

// TestTCPUntouched connects a bound socket, which stays untouched; the log says so.
func TestTCPUntouched(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	for _, local := range []string{"127.0.0.1", "0.0.0.0"} {
		var log bytes.Buffer
		mustSucceed(t, underTCP(t, echo, &log, "tcp-bound", local), &log, `ddp=0 plain=0 untouched=1`)
		if !bytes.Contains(log.Bytes(), []byte(errBound.Error())) {
			t.Errorf("%s: no reason in the log:\n%s", local, log.Bytes())
		}
	}
}

// tcpHoldProgram connects, sends a byte, reports its echo, and waits forever.
func tcpHoldProgram(args []string) error {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	if _, err = c.Write([]byte{1}); err == nil {
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	if err != nil {
		return err
	}
	fmt.Println(os.Getpid())
	select {}
}

// TestTCPOfKilledProgram kills a program: its peer sees the connection end, and the supervisor ends
// too.
func TestTCPOfKilledProgram(t *testing.T) {
	echo, ended := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	c := underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-hold")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	_ = c.Wait()
	if s := c.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != unix.SIGKILL {
		t.Errorf("the supervisor ends with %v:\n%s", c.ProcessState, log.Bytes())
	}
}
