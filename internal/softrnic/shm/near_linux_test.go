package shm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	localhost = netip.MustParseAddr("127.0.0.1")
	from      = netip.AddrPortFrom(localhost, 1)
)

// port is the port of the last listener. The port need not be free, because listeners use it only
// in their names.
var port atomic.Uint32

// listen returns a listener that has the address localhost, and its address and port.
func listen(t testing.TB) (net.Listener, netip.AddrPort) {
	t.Helper()
	return listenWith(t, helloTime)
}

// listenWith is listen with the time d for hellos.
func listenWith(t testing.TB, d time.Duration) (net.Listener, netip.AddrPort) {
	t.Helper()
	for {
		p := uint16(1 + port.Add(1)%60000)
		l, err := listenFor(d, QueuePairs, p, func(a netip.Addr) bool { return a == localhost })
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l, netip.AddrPortFrom(localhost, p)
	}
}

// pair returns the two ends of a connection, as between two processes.
func pair(t testing.TB) (a, b *Stream) { return pairBy(t, dialSocket) }

// pairHere returns the two ends of a connection within this process.
func pairHere(t testing.TB) (a, b *Stream) { return pairBy(t, Dial) }

type dialFunc func(ctx context.Context, in Space, from, to netip.AddrPort) (*Stream, error)

func pairBy(t testing.TB, dial dialFunc) (a, b *Stream) {
	t.Helper()
	l, at := listen(t)
	a, err := dial(context.Background(), QueuePairs, from, at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b = c.(*Stream)
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

func TestContract(t *testing.T) { testContract(t, pair) }

// TestContractHere is TestContract within a process.
func TestContractHere(t *testing.T) { testContract(t, pairHere) }

func testContract(t *testing.T, pair func(testing.TB) (a, b *Stream)) {
	toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) { return pair(t) })
	t.Run("the end that has accepted", func(t *testing.T) {
		toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) {
			b, a = pair(t)
			return a, b
		})
	})
}

func TestNetConn(t *testing.T) { testNetConn(t, pair) }

// TestNetConnHere is TestNetConn within a process.
func TestNetConnHere(t *testing.T) { testNetConn(t, pairHere) }

func testNetConn(t *testing.T, pair func(testing.TB) (a, b *Stream)) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		a, b := pair(t)
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

func TestAddresses(t *testing.T) {
	l, at := listen(t)
	a, err := Dial(context.Background(), QueuePairs, from, at)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, test := range []struct {
		got  net.Addr
		want netip.AddrPort
	}{{a.LocalAddr(), from}, {a.RemoteAddr(), at}, {b.LocalAddr(), at}, {b.RemoteAddr(), from}} {
		if test.got != Addr(test.want) {
			t.Errorf("address %v, want %v", test.got, test.want)
		}
	}
}

// TestRefused checks connections that are refused.
func TestRefused(t *testing.T) {
	l, at := listen(t)
	elsewhere := netip.MustParseAddr("192.0.2.1") // TEST-NET-1: no host has it
	for _, test := range []struct {
		desc     string
		from, to netip.AddrPort
	}{
		{"nobody listens", from, netip.AddrPortFrom(localhost, 0)}, // which no device has, of whatever process
		{"the listener does not have the address", from, netip.AddrPortFrom(elsewhere, at.Port())},
		{"the peer claims an address of another host", netip.AddrPortFrom(elsewhere, 1), at},
	} {
		if s, err := Dial(context.Background(), QueuePairs, test.from, test.to); err == nil {
			s.Close()
			t.Errorf("%s: Dial = nil", test.desc)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, QueuePairs, from, at); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial without time = %v", err)
	}
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed listener = %v", err)
	}
}

// TestHostileHello sends malformed hellos: the listener closes the connection, and accepts the next
// one.
func TestHostileHello(t *testing.T) {
	l, at := listen(t)
	good := hello{from, at}.appendTo(nil)
	memory := func(size int64, flags, seals int) func(t *testing.T) []int {
		return func(t *testing.T) []int {
			fd, err := unix.MemfdCreate("test", unix.MFD_ALLOW_SEALING|flags)
			if err == nil {
				err = unix.Ftruncate(fd, size)
			}
			if err == nil {
				_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
			}
			if err != nil {
				t.Fatal(err)
			}
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(pair[0]) })
			return []int{fd, pair[1]}
		}
	}
	right := memory(fileLen, 0, unix.F_SEAL_SHRINK)
	for _, test := range []struct {
		desc  string
		hello []byte
		fds   func(t *testing.T) []int
	}{
		{"no descriptors", good, nil},
		{"too short", good[:len(good)-1], right},
		{"another magic", append([]byte("rddp NR0"), good[8:]...), right},
		{"one descriptor", good, func(t *testing.T) []int { return right(t)[:1] }},
		{"three descriptors", good, func(t *testing.T) []int { return append(right(t), right(t)[0]) }},
		{"the wrong order", good, func(t *testing.T) []int { fds := right(t); return []int{fds[1], fds[0]} }},
		{"memory that is too short", good, memory(fileLen-1, 0, unix.F_SEAL_SHRINK)},
		{"memory that can shrink", good, memory(fileLen, 0, unix.F_SEAL_GROW)},
		{"memory of huge pages", good, memory(4<<20, unix.MFD_HUGETLB, unix.F_SEAL_SHRINK)},
		{"memory that cannot be written", good, memory(fileLen, 0, unix.F_SEAL_SHRINK|unix.F_SEAL_WRITE)},
		{"two memories", good, func(t *testing.T) []int { return []int{right(t)[0], right(t)[0]} }},
		{"a file", good, func(t *testing.T) []int {
			fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			return []int{fd, right(t)[1]}
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			c, err := net.DialUnix("unix", nil, socketName(QueuePairs, at.Port()))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var fds []int
			if test.fds != nil {
				fds = test.fds(t)
			}
			_, _, err = c.WriteMsgUnix(test.hello, unix.UnixRights(fds...), nil)
			for _, fd := range fds {
				unix.Close(fd)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.SetReadDeadline(prototest.Deadline(t))
			if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("answer of %d bytes, %v", n, err)
			}
		})
	}
	a, err := dialSocket(context.Background(), QueuePairs, from, at)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

// TestManyHellos checks that silent peers occupy at most maxHellos goroutines and connections, and
// that the next peer is answered once one of them is gone.
func TestManyHellos(t *testing.T) {
	l, at := listenWith(t, time.Hour) // it never gives up on the silent peers
	other, atOther := listen(t)
	for _, l := range []net.Listener{l, other} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
	}
	dial := func(at netip.AddrPort) error {
		s, err := dialSocket(context.Background(), QueuePairs, from, at)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	var silent []net.Conn
	for range maxHellos {
		c, err := net.DialUnix("unix", nil, socketName(QueuePairs, at.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	prototest.Wait(t, "as many hellos as there may be", func() bool { return len(l.(*listener).hellos) >= maxHellos })
	dialed := make(chan error, 1)
	go func() { dialed <- dial(at) }()
	for range 50 { // another listener answers 50 times in the meantime
		if err := dial(atOther); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-dialed:
		if err == nil {
			t.Error("one more peer was answered")
		}
	default:
	}
	silent[0].Close()
	prototest.Wait(t, "an answer", func() bool { return dial(at) == nil })
}

// TestPunchedMemory checks a peer that tries to truncate the memory, and then punches a hole in it.
func TestPunchedMemory(t *testing.T) {
	l, at := listen(t)
	c, err := net.DialUnix("unix", nil, socketName(QueuePairs, at.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file, room, theirs, err := newMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer room.Close()
	defer theirs.Close()
	if _, _, err := c.WriteMsgUnix(hello{from, at}.appendTo(nil), unix.UnixRights(int(file.Fd()), int(theirs.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	fd := int(file.Fd())
	if n, err := b.Write(make([]byte, ringLen)); n != ringLen || err != nil {
		t.Fatal(n, err)
	}
	for _, n := range []int64{0, headerLen, fileLen - 1} {
		if err := unix.Ftruncate(fd, n); err != unix.EPERM {
			t.Errorf("Ftruncate(%d) = %v, want EPERM", n, err)
		}
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, fileLen); err != nil {
		t.Fatal(err)
	}
	s := b.(*Stream)
	if n, err := s.Pending(); n != 0 || err != nil {
		t.Errorf("Pending = %d, %v", n, err)
	}
	if n, err := s.TryWriteBatch([][]byte{{1}}); n != 0 || err != nil { // nothing was consumed
		t.Errorf("TryWriteBatch = %d, %v", n, err)
	}
}

// TestNoRights checks that a connection accepts no descriptors from its peer.
func TestNoRights(t *testing.T) {
	a, b := pair(t)
	for _, bell := range []*bell{&a.data, &a.room, &b.data, &b.room} {
		var v int
		var err error
		if e := bell.raw.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSRIGHTS) }); e != nil {
			t.Fatal(e)
		}
		if errors.Is(err, unix.ENOPROTOOPT) {
			t.Skip("this kernel cannot refuse descriptors")
		}
		_, _, err = bell.conn.WriteMsgUnix([]byte{1}, unix.UnixRights(0), nil)
		if v != 0 || !errors.Is(err, unix.EPERM) {
			t.Errorf("SO_PASSRIGHTS = %d, and a descriptor is sent: %v", v, err)
		}
	}
}

// TestStrictMemory checks that there are no connections if the kernel never overcommits memory. The
// policy applies to the whole machine, so the test uses a file in its place.
func TestStrictMemory(t *testing.T) {
	_, at := listen(t)
	was := overcommitFile
	defer func() { overcommitFile = was }()
	overcommitFile = t.TempDir() + "/overcommit_memory"
	if _, err := Dial(context.Background(), QueuePairs, from, at); err == nil {
		t.Error("Dial without knowing the policy = nil")
	}
	if err := os.WriteFile(overcommitFile, []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(context.Background(), QueuePairs, from, at); !errors.Is(err, errStrict) {
		t.Errorf("Dial = %v", err)
	}
	if _, err := Listen(QueuePairs, 1, nil); !errors.Is(err, errStrict) {
		t.Errorf("Listen = %v", err)
	}
}

// TestOtherUser checks that another user is not connected.
func TestOtherUser(t *testing.T) {
	const env = "RDDP_TEST_NEAR_AT"
	if at := os.Getenv(env); at != "" {
		if s, err := Dial(context.Background(), QueuePairs, from, netip.MustParseAddrPort(at)); err == nil {
			s.Close()
			t.Errorf("Dial as user %d = nil", os.Geteuid())
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	_, at := listen(t)
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env, c.Dir = append(os.Environ(), env+"="+at.String()), "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNumberlessUser checks that two users without a UID in a user namespace do not count as the
// same user.
func TestNumberlessUser(t *testing.T) {
	const env = "RDDP_TEST_NUMBERLESS"
	if os.Getenv(env) == "" {
		c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1")
		c.Env = append(os.Environ(), env+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		out, err := c.CombinedOutput()
		if c.Process == nil && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC)) {
			t.Skipf("this machine allows no user namespaces: %v", err)
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	_, at := listen(t)
	if s, err := dialSocket(context.Background(), QueuePairs, from, at); err == nil {
		s.Close()
		t.Errorf("Dial as user %d = nil", os.Geteuid())
	}
}

// TestHostileHeader checks that impossible numbers end the stream, and cause no access to other
// memory.
func TestHostileHeader(t *testing.T) {
	for _, n := range []uint64{ringLen + 1, 1 << 40, 1<<64 - 1} {
		_, b := pair(t)
		b.in.mu.Lock()
		b.in.head.base.Store(n) // as a would, if it were hostile
		b.in.head.produced.Store(ringLen)
		b.in.mu.Unlock()
		got, err := takeWhole(b)
		if got != ringLen || err != nil {
			t.Fatalf("%d bytes, %v with %d at the front", got, err, n)
		}
		b.in.mu.Lock()
		b.in.head.produced.Store(ringLen + n)
		b.in.mu.Unlock()
		if _, _, err := toetest.ReadSegment(b, make([]byte, 2*ringLen)); !errors.Is(err, errPeer) {
			t.Fatalf("ReadSegment with %d bytes produced = %v", n, err)
		}
		if _, err := b.Pending(); !errors.Is(err, errPeer) {
			t.Errorf("Pending with %d bytes produced = %v", n, err)
		}
		b.out.mu.Lock()
		b.out.head.consumed.Store(-n) // b has written nothing yet
		b.out.mu.Unlock()
		if _, err := b.TryWriteBatch([][]byte{make([]byte, 2*ringLen)}); !errors.Is(err, errPeer) {
			t.Fatalf("TryWriteBatch with %d bytes consumed = %v", n, err)
		}
		if err := b.WaitWritable(); err != nil {
			t.Errorf("WaitWritable with %d bytes consumed = %v; TryWriteBatch has the error", n, err)
		}
	}
}

// takeWhole takes all bytes in the ring of s. If that panics, s can still be closed.
func takeWhole(s *Stream) (n int, err error) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	n, _, err = s.in.takeLocked(make([]byte, 2*ringLen))
	return n, err
}

// TestProducedGoesBack checks a peer that takes back bytes that it has shown: ReadSegment must not
// return 0 without an error.
func TestProducedGoesBack(t *testing.T) {
	a, b := pair(t)
	if _, err := a.Write(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	back := lender(func() []byte {
		b.in.mu.Lock()
		defer b.in.mu.Unlock()
		b.in.head.produced.Store(0) // as a would, if it were hostile
		return make([]byte, 8)
	})
	if n, _, err := b.ReadSegment(back, 0); n != 0 || !errors.Is(err, errPeer) {
		t.Errorf("ReadSegment = %d, %v, want 0, %v", n, err, errPeer)
	}
}

// A lender lends the memory that the function returns.
type lender func() []byte

func (l lender) Lend() []byte { return l() }
func (lender) TakeBack() bool { return true }

// TestFlood checks that a deadline ends a call even if the peer rings all the time.
func TestFlood(t *testing.T) {
	a, b := pair(t)
	for _, test := range []struct {
		desc       string
		mine, bell *bell
		call       func() error
	}{
		{"ReadSegment", &b.data, &a.data, func() error { _, _, err := toetest.ReadSegment(b, make([]byte, 8)); return err }},
		{"WriteBatch", &b.room, &a.room, func() error { return toetest.WriteBatch(b, [][]byte{make([]byte, 2*ringLen)}) }},
	} {
		if n, err := test.bell.conn.Write(make([]byte, 64<<10)); err != nil {
			t.Fatal(n, err)
		}
		ready, looks := test.mine.ready, 0
		test.mine.looks = drainEvery // the wait reads the bells
		test.mine.ready = func() bool {
			if looks++; looks == 1 {
				b.SetDeadline(time.Unix(1, 0))
			}
			return ready()
		}
		if err := test.call(); !errors.Is(err, os.ErrDeadlineExceeded) || looks > 2*hearMost {
			t.Errorf("%s = %v, after %d looks beyond the deadline", test.desc, err, looks)
		}
		b.SetDeadline(time.Time{})
	}
}

// TestGoneBeforeWait checks that a wait finds a peer that has died before, behind bells that nobody
// has read.
func TestGoneBeforeWait(t *testing.T) {
	for range 10 {
		a, b := pair(t)
		b.SetReadDeadline(prototest.Deadline(t))
		died := false
		b.data.raw.Read(func(fd uintptr) bool { // so that the runtime has seen the edges of both
			if !died {
				a.data.ring()
				a.data.conn.Close() // a process that ends closes its sockets, and says nothing
				died = true
				return false
			}
			return isHungUp(fd)
		})
		if _, _, err := toetest.ReadSegment(b, make([]byte, 8)); err != io.EOF { //nolint:errorlint // as a Stream must return it
			t.Fatalf("ReadSegment after the death of the peer: %v, want EOF", err)
		}
	}
}

// TestBellsAreRead checks that bells cannot fill the socket, so that each one wakes.
func TestBellsAreRead(t *testing.T) {
	a, b := pair(t)
	b.SetReadDeadline(prototest.Deadline(t))
	buf := make([]byte, 8)
	const bells = 2000
	go func() {
		for range bells {
			for !a.out.mustWake() {
				runtime.Gosched()
			}
			if _, err := a.TryWriteBatch([][]byte{{1}}); err != nil {
				return // closed, because the reader has failed
			}
		}
	}()
	for read := 0; read < bells; { // one read takes what several bells announced
		n, _, err := toetest.ReadSegment(b, buf)
		if err != nil {
			t.Fatal(read, err)
		}
		read += n
	}
}

// mustWake reports whether the reader waits, or the memory is gone.
func (h *half) mustWake() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head == nil || h.head.asleep.Load() != 0
}

// TestShortWrites checks that a writer that has not filled the ring does not wait for room. A
// writer that has filled it continues when the reader has taken a quarter, in one piece or in many.
func TestShortWrites(t *testing.T) {
	for _, take := range []int{1000, roomFrom} {
		a, b := pair(t)
		a.SetDeadline(prototest.Deadline(t))
		for _, room := range []int{ringLen, roomFrom} {
			if n, err := a.TryWriteBatch([][]byte{make([]byte, room-10)}); n != room-10 || err != nil {
				t.Fatalf("TryWriteBatch = %d, %v", n, err)
			}
			if !a.hasRoom() {
				t.Fatal("a writer with room for 10 bytes waits")
			}
			if n, err := a.Write([]byte("0123456")); n != 7 || err != nil {
				t.Errorf("Write with room for 10 bytes = %d, %v", n, err)
			}
			if n, err := a.TryWriteBatch([][]byte{make([]byte, 10)}); n != 3 || err != nil {
				t.Errorf("TryWriteBatch with room for 3 bytes = %d, %v", n, err)
			}
			waited := make(chan error)
			go func() { waited <- a.WaitWritable() }()
			for taken := 0; taken < roomFrom; {
				n, _, err := toetest.ReadSegment(b, make([]byte, min(take, roomFrom-taken)))
				if err != nil {
					t.Fatal(err)
				}
				taken += n
			}
			if err := <-waited; err != nil {
				t.Errorf("WaitWritable of a ring that was full = %v", err)
			}
		}
	}
}

// TestShortMessages checks that messages use only the front of the ring, if each is read before the
// next is written. So they stay in the caches, and a connection with short messages takes little
// memory.
func TestShortMessages(t *testing.T) {
	a, b := pair(t)
	const n = 1000
	want := bytes.Repeat([]byte{1}, n)
	for range 2*ringLen/n + 1 {
		if err := toetest.WriteBatch(a, [][]byte{want}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, n)
		if m, _, err := toetest.ReadSegment(b, got); m != n || err != nil || !bytes.Equal(got, want) {
			t.Fatalf("ReadSegment = %d, %v", m, err)
		}
	}
	a.out.mu.Lock()
	defer a.out.mu.Unlock()
	if i := bytes.IndexByte(a.out.ring[n:], 1); i >= 0 {
		t.Errorf("byte %d of the ring has been used", n+i)
	}
}

// TestScribbles lets a hostile peer write at random into the shared memory, while the two ends use
// it. The bytes may be wrong then, and the stream may end. Nothing else may happen.
func TestScribbles(t *testing.T) {
	a, b := pair(t)
	stop := make(chan struct{})
	scribbled := make(chan struct{})
	go func() {
		defer close(scribbled)
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			a.in.mu.Lock()
			if a.in.head != nil {
				x := i * 0x9e3779b97f4a7c15
				a.in.head.consumed.Store(x >> (x & 63))
				a.in.head.wanted.Store(uint32(x))
				a.in.head.asleep.Store(uint32(x >> 8))
			}
			a.in.mu.Unlock()
		}
	}()
	deadline := prototest.Deadline(t)
	for range 1000 {
		b.SetDeadline(deadline)
		_, _ = b.TryWriteBatch([][]byte{make([]byte, 1000), make([]byte, 70_000)})
		n, err := a.Pending()
		if n == 0 || err != nil {
			continue
		}
		_, _, _ = toetest.ReadSegment(a, make([]byte, 100_000))
	}
	close(stop)
	<-scribbled
}

// TestPeerDies checks the end of the peer's process: its sockets close, and the memory stays
// unchanged.
func TestPeerDies(t *testing.T) {
	a, b := pair(t)
	if _, err := a.Write([]byte("last")); err != nil {
		t.Fatal(err)
	}
	a.data.conn.Close()
	a.room.conn.Close()
	b.SetDeadline(prototest.Deadline(t))
	p := make([]byte, 8)
	if n, _, err := toetest.ReadSegment(b, p); n != 4 || err != nil {
		t.Errorf("ReadSegment = %d, %v, want 4, nil", n, err)
	}
	for range 2 {
		if n, _, err := toetest.ReadSegment(b, p); n != 0 || err != io.EOF {
			t.Errorf("ReadSegment = %d, %v, want 0, EOF", n, err)
		}
	}
	if err := toetest.WriteBatch(b, [][]byte{make([]byte, 2*ringLen)}); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("WriteBatch = %v, want EPIPE", err)
	}
}
