//go:build amd64 || arm64

package run

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/rnic"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["socket"] = socketProgram }

// socketProgram connects two extended sockets: both on the device, and with "mixed" also one on the
// device and one in process.
func socketProgram(args []string) (err error) {
	before := goleak.IgnoreCurrent()
	b := new(verbs.Backend)
	if err := runSockets(b, args[0] == "mixed"); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := b.Close(); err != nil {
		return err
	}
	return goleak.Find(before)
}

func runSockets(b *verbs.Backend, mixed bool) error {
	for _, p := range socketPairs(b, mixed) {
		if err := runPair(p[0], p[1]); err != nil {
			return fmt.Errorf("on a device: listens %v, dials %v: %w", p[0].Backend != nil, p[1].Backend != nil, err)
		}
		if err := runMessages(*p[0], *p[1]); err != nil {
			return fmt.Errorf("messages on a device: listens %v, dials %v: %w", p[0].Backend != nil, p[1].Backend != nil, err)
		}
	}
	return besideDevice(b)
}

// besideDevice listens at an address of the host that the device does not have, so the connection
// runs in process. rdma_cm has all addresses of loopback, so this is only possible on a host that
// has another one.
func besideDevice(b *verbs.Backend) error {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.To4() != nil && !n.IP.IsLoopback()
	})
	if i < 0 {
		return nil
	}
	address := net.JoinHostPort(all[i].(*net.IPNet).IP.String(), "0")
	l, err := extsock.Listen("tcp", address, &extsock.Config{Startup: extsock.StartupRequire, Backend: b})
	if err != nil {
		return err
	}
	defer l.Close()
	client, server, err := dialAndAccept(l, &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	var u *rnic.UnavailableError
	if why := server.ConnectionState().NoDevice; !errors.As(why, &u) || u.Reason != rnic.NotSupported {
		return fmt.Errorf("a connection beside the device: %w", why)
	}
	return nil
}

// runMessages exchanges messages between two ends. The dialing end acts like a foreign
// implementation.
func runMessages(listens, dials extsock.Config) error {
	dials.Messages, dials.NoCapabilities = true, true
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &listens)
	if err != nil {
		return err
	}
	defer l.Close()
	client, server, err := dialAndAccept(l, &dials)
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	p := make([]byte, 10_000)
	for i := range 100 {
		for _, way := range [][2]*extsock.Conn{{client, server}, {server, client}} {
			if _, err := way[0].Write(p[:i*97]); err != nil {
				return err
			}
			if n, c, err := way[1].ReadMessage(p); n != i*97 || int(c.Len) != n || err != nil {
				return fmt.Errorf("message %d = %d bytes, %v, %w", i, n, c, err)
			}
		}
	}
	if err := client.Close(); err != nil {
		return err
	}
	if n, err := server.Read(p); err != io.EOF { //nolint:errorlint // as Read returns it
		return fmt.Errorf("behind the end: %d, %w", n, err)
	}
	return nil
}

// socketPairs returns pairs of configurations: one for the listening end, and one for the dialing
// end.
func socketPairs(b *verbs.Backend, mixed bool) [][2]*extsock.Config {
	device := extsock.Config{Startup: extsock.StartupRequire, Backend: b, PrivateData: []byte("hello")}
	process := device
	process.Backend = nil
	pairs := [][2]*extsock.Config{{&device, &device}}
	if mixed {
		pairs = append(pairs, [2]*extsock.Config{&device, &process}, [2]*extsock.Config{&process, &device})
	}
	return pairs
}

func runPair(listens, dials *extsock.Config) error {
	device := cmp.Or(listens.Backend, dials.Backend)
	l, err := extsock.Listen("tcp", "127.0.0.1:0", listens)
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range 4 {
		client, server, err := connectSockets(l, dials)
		if err != nil {
			return err
		}
		from, to := client, server
		if i%2 == 1 { // the server speaks first
			from, to = server, client
		}
		if err := errors.Join(stream(from, to), stream(to, from), both(from, to), posts(device, from, to), endSockets(from, to)); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return nil
}

// posts posts Writes and Reads of every length at the end on the device, in the device's memory,
// and waits for their Completions.
func posts(b toe.Backend, from, to *extsock.Conn) error {
	if from.ConnectionState().Device == "" {
		return nil // the memory need not belong to a device
	}
	remote, err := extsock.NewMemory(b, 64*postLen, ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return err
	}
	defer remote.Close()
	local, err := extsock.NewMemory(b, 64*postLen, 0)
	if err != nil {
		return err
	}
	defer local.Close()
	r, err := remote.Share(to)
	if err != nil {
		return err
	}
	want := make([]byte, 64*postLen)
	for i := range want {
		want[i] = byte(i ^ i>>8 ^ i>>16)
	}
	for _, op := range []rdmap.WorkOp{rdmap.WorkWrite, rdmap.WorkRead} {
		if op == rdmap.WorkWrite {
			copy(local.Bytes(), want)
		} else {
			clear(local.Bytes())
		}
		if err := postAll(from, op, local.Bytes(), r.Handle()); err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
	}
	if !bytes.Equal(remote.Bytes(), want) || !bytes.Equal(local.Bytes(), want) {
		return errors.New("the memory is not what was written, or read")
	}
	return nil
}

const postLen = 40_000

// postAll posts pieces of p, each as soon as there is room, and checks that their Completions come
// in order.
func postAll(c *extsock.Conn, op rdmap.WorkOp, p []byte, h rdmap.Handle) error {
	const pieces = 64
	for posted, done := 0, 0; done < pieces; {
		piece, err := h.Slice(int64(posted)*postLen, postLen)
		if posted < pieces && err != nil {
			return err
		}
		if posted < pieces {
			err = c.Post(&rdmap.WorkRequest{ID: uint64(posted), Op: op, Data: p[posted*postLen:][:postLen], Remote: piece})
			if err == nil {
				posted++
				continue
			}
			if !errors.Is(err, rdmap.ErrQueueFull) {
				return err
			}
		}
		got, err := c.SendCQ().Wait(context.Background())
		if err != nil || got.Err != nil || got.ID != uint64(done) || got.Len != postLen {
			return fmt.Errorf("completion %d: %v, %w", done, got, err)
		}
		done++
	}
	return nil
}

// both streams in both directions at once.
func both(a, b *extsock.Conn) error {
	back := make(chan error, 1)
	go func() { back <- stream(b, a) }()
	return errors.Join(stream(a, b), <-back)
}

// dialAndAccept returns the two ends of a connection through l.
func dialAndAccept(l *extsock.Listener, cfg *extsock.Config) (client, server *extsock.Conn, err error) {
	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		return nil, nil, err
	}
	s, err := l.AcceptDDP()
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, s, nil
}

// connectSockets is dialAndAccept for byte streams on the engines that their Configs choose.
func connectSockets(l *extsock.Listener, cfg *extsock.Config) (client, server *extsock.Conn, err error) {
	c, s, err := dialAndAccept(l, cfg)
	if err != nil {
		return nil, nil, err
	}
	for _, end := range []*extsock.Conn{c, s} {
		if st := end.ConnectionState(); !st.ByteStream || st.NoDevice != nil || !bytes.HasPrefix(st.PeerPrivateData, []byte("hello")) {
			return nil, nil, fmt.Errorf("state %+v", st)
		}
	}
	return c, s, nil
}

// stream writes bytes at one end and compares them at the other.
func stream(from, to io.ReadWriter) error {
	const n = 5 << 20
	wrote := make(chan error, 1)
	sums := [2][sha256.Size]byte{}
	sent := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(sent) // it never fails
	sums[0] = sha256.Sum256(sent)
	go func() {
		for at, k := 0, 1; at < n; k = k*3%100_003 + 1 {
			end := min(at+k, n)
			if m, err := from.Write(sent[at:end]); m != end-at || err != nil {
				wrote <- fmt.Errorf("Write of %d bytes at %d = %d, %w", end-at, at, m, err)
				return
			}
			at = end
		}
		wrote <- nil
	}()
	got := make([]byte, n)
	_, err := io.ReadFull(to, got)
	sums[1] = sha256.Sum256(got)
	if err := errors.Join(err, <-wrote); err != nil {
		return err
	}
	if sums[0] != sums[1] {
		return errors.New("the bytes differ")
	}
	return nil
}

// endSockets closes one end, and then the other, which sees the end.
func endSockets(a, b *extsock.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	if _, err := a.Write([]byte("bye")); err != nil {
		return err
	}
	if err := a.Close(); err != nil {
		return err
	}
	if got, err := io.ReadAll(b); string(got) != "bye" || err != nil {
		return fmt.Errorf("the last words are %q, %w", got, err)
	}
	return errors.Join(b.Close(), a.Wait(ctx), b.Wait(ctx))
}

// socketKinds are the kinds of device. Ends in process use iWARP, so they can connect only to an
// RNIC.
var socketKinds = map[string]string{supervise: "alike", superviseIWARP: "mixed"}

// TestSockets connects extended sockets on either kind of device.
func TestSockets(t *testing.T) {
	for kind, pairs := range socketKinds {
		t.Run(kind, func(t *testing.T) {
			c := under(performance(t, "socket", pairs)...)
			c.Args[0] = kind
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}

// socketsOfTest tells TestSocketsNettest that it runs under a supervisor, and which pairs to test.
const socketsOfTest = "RDDP_SOCKETS_OF_TEST"

// TestSocketsNettest runs package nettest on extended sockets on either kind of device. The test
// runs itself under a supervisor.
func TestSocketsNettest(t *testing.T) {
	if pairs := os.Getenv(socketsOfTest); pairs != "" {
		judgeSockets(t, pairs == "mixed")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, pairs := range socketKinds {
		t.Run(kind, func(t *testing.T) {
			c := under(self, "-test.v", "-test.run=^TestSocketsNettest$")
			c.Args[0] = kind
			c.Env = append(c.Environ(), socketsOfTest+"="+pairs)
			out, err := c.Output()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSocketsNettest/both_on_the_device/PingPong")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func judgeSockets(t *testing.T, mixed bool) {
	b := new(verbs.Backend)
	defer b.Close()
	for i, p := range socketPairs(b, mixed) {
		t.Run([]string{"both on the device", "in process dials", "in process listens"}[i], func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", p[0])
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				client, server, err := connectSockets(l, p[1])
				if err != nil {
					return nil, nil, nil, err
				}
				return client, server, func() { client.Close(); server.Close() }, nil
			})
		})
	}
}
