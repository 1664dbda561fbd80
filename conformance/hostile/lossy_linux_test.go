//go:build conformance || soak

package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
)

const (
	lossyBlock   = 1 << 20
	lossySlots   = 8 // blocks of memory that RDMA Writes go to
	lossyTimeout = 4 * time.Minute

	lossySessions = 80
)

// The addresses of the two hosts of a lossyNet, of which the second listens.
var lossyAddresses = [2][]netip.Prefix{
	{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd09::1/64")},
	{netip.MustParsePrefix("10.9.0.2/24"), netip.MustParsePrefix("fd09::2/64")},
}

// A lossyNet is two network namespaces, each with the kernel's TCP, and a bad link between their TUN
// devices.
type lossyNet struct {
	hosts [2]*tun.Namespace
	link  *badlink.Joint
}

// newLossyNet makes a net. It needs root, /dev/net/tun and BBR, and fails without.
func newLossyNet(t *testing.T, cfg badlink.Config) *lossyNet {
	t.Helper()
	x := new(lossyNet)
	var devices [2]*tun.Device
	for i := range x.hosts {
		var err error
		if x.hosts[i], err = tun.NewNamespace(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.hosts[i].Close() })
		devices[i], err = tun.Open(tun.Config{Namespace: x.hosts[i], Addresses: lossyAddresses[i], QueueLen: 5000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { devices[i].Close() })
	}
	goroutines := runtime.NumGoroutine()
	var err error // the context of t ends too early: before cleanup
	if x.link, err = badlink.Join(context.Background(), devices[0], devices[1], cfg); err != nil {
		t.Fatal(err)
	}
	linked := runtime.NumGoroutine()
	t.Cleanup(func() {
		settled(t, linked) // Close of a connection goes on in the background, and needs the link
		if err := x.link.Close(); err != nil {
			t.Error(err)
		}
		settled(t, goroutines)
	})
	return x
}

// useBBR chooses the congestion control of a socket. Reno and CUBIC take loss for congestion: with
// 5 % of it they would be very slow.
func useBBR(_, _ string, c syscall.RawConn) (err error) {
	c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr") })
	return err
}

// pairs listens at the address number which of the second host. It returns a function that makes a
// connection between the hosts.
func (x *lossyNet) pairs(t *testing.T, which int) func() (a, b net.Conn, err error) {
	t.Helper()
	var l net.Listener
	if err := x.hosts[1].Do(func() (err error) {
		lc := net.ListenConfig{Control: useBBR}
		l, err = lc.Listen(t.Context(), "tcp", netip.AddrPortFrom(lossyAddresses[1][which].Addr(), 0).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex // so that Accept returns the connection that was dialed
	return func() (a, b net.Conn, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err := x.hosts[0].Do(func() (err error) {
			a, err = (&net.Dialer{Control: useBBR, Timeout: time.Minute}).DialContext(t.Context(), "tcp", l.Addr().String())
			return err
		}); err != nil {
			return nil, nil, err
		}
		b, err = l.Accept()
		return a, b, err
	}
}

// lossyData makes the octets of a transfer, block by block: no two blocks are alike, and no two
// transfers.
type lossyData struct {
	block []byte
	n     uint64
}

func newLossyData(transfer byte) *lossyData {
	d := &lossyData{block: make([]byte, lossyBlock)}
	r := rand.NewChaCha8([32]byte{transfer})
	r.Read(d.block)
	return d
}

func (d *lossyData) next(left int64) []byte {
	d.n++
	for i := 0; i+8 <= len(d.block); i += 512 {
		binary.BigEndian.PutUint64(d.block[i:], d.n*0x9e3779b97f4a7c15+uint64(i))
	}
	return d.block[:min(left, lossyBlock)]
}

// exchangeStreams writes octets to c and closes that direction, and meanwhile reads to the end. It
// returns the SHA-256 of what was written and of what was read.
func exchangeStreams(c *extsock.Conn, transfer byte, octets int64) (out, in []byte, err error) {
	written := make(chan error, 1)
	sent := sha256.New()
	go func() { written <- writeStream(c, sent, transfer, octets) }()
	received := sha256.New()
	n, err := io.CopyBuffer(received, struct{ io.Reader }{c}, make([]byte, 256<<10))
	if err == nil && n != octets {
		err = io.ErrUnexpectedEOF
	}
	err = errors.Join(err, <-written)
	return sent.Sum(nil), received.Sum(nil), err
}

func writeStream(c *extsock.Conn, sum hash.Hash, transfer byte, octets int64) error {
	d := newLossyData(transfer)
	for left := octets; left > 0; {
		b := d.next(left)
		sum.Write(b)
		if _, err := c.Write(b); err != nil {
			return err
		}
		left -= int64(len(b))
	}
	return c.CloseWrite()
}

func sendWrites(c *extsock.Conn, transfer byte, octets int64) ([]byte, error) {
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return nil, err
	}
	m, sum, d := c.Remote(h), sha256.New(), newLossyData(transfer)
	written, free := 0, lossySlots
	for left := octets; left > 0; written++ {
		if free == 0 {
			n, err := c.Read(b)
			if err != nil {
				return nil, err
			}
			free += n
		}
		block := d.next(left)
		sum.Write(block)
		if _, err := m.WriteAt(block, int64(written%lossySlots)*lossyBlock); err != nil {
			return nil, err
		}
		var note [4]byte
		binary.BigEndian.PutUint32(note[:], uint32(len(block)))
		if _, err := c.Write(note[:]); err != nil {
			return nil, err
		}
		free--
		left -= int64(len(block))
	}
	_, err = io.ReadFull(c, make([]byte, lossySlots-free))
	return sum.Sum(nil), err
}

func receiveWrites(c *extsock.Conn, octets int64) ([]byte, error) {
	memory := make([]byte, lossySlots*lossyBlock)
	r, err := c.Register(memory, ddp.RemoteWrite)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var note [4]byte
	for slot := 0; octets > 0; slot++ {
		if _, err := io.ReadFull(c, note[:]); err != nil {
			return nil, err
		}
		n := int64(binary.BigEndian.Uint32(note[:]))
		sum.Write(memory[slot%lossySlots*lossyBlock:][:n])
		if _, err := c.Write([]byte{1}); err != nil {
			return nil, err
		}
		octets -= n
	}
	return sum.Sum(nil), nil
}

// lossyFaults are 5 % loss, 10 % reordering and 1 % duplication.
var lossyFaults = badlink.Faults{Loss: 0.05, Reorder: 0.10, Duplicate: 0.01, Queue: 5000}

// wantLossy wants that both directions of the link had these faults.
func wantLossy(t *testing.T, x *lossyNet) {
	t.Helper()
	ab, ba := x.link.Stats()
	for i, s := range []badlink.Stats{ab, ba} {
		t.Logf("%s: %d packets, %d lost, %d late, %d twice, %d dropped, %d refused", []string{"there", "back"}[i], s.In, s.Lost, s.Reordered,
			s.Duplicated, s.QueueDrops, s.Refused)
		arrived := s.In - s.Lost
		for _, fault := range []struct {
			n, of       uint64
			probability float64
		}{{s.Lost, s.In, lossyFaults.Loss}, {s.Reordered, arrived, lossyFaults.Reorder}, {s.Duplicated, arrived, lossyFaults.Duplicate}} {
			want := fault.probability * float64(fault.of)
			if math.Abs(float64(fault.n)-want) > 5*math.Sqrt(want) || fault.n == 0 {
				t.Errorf("of %d packets, %d had a fault of probability %v", fault.of, fault.n, fault.probability)
			}
		}
	}
}

// lossyPair makes a connection in DDP mode between the hosts.
func lossyPair(t *testing.T, pair func() (a, b net.Conn, err error)) (ends [2]*extsock.Conn) {
	t.Helper()
	a, b, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &extsock.Config{CloseTimeout: time.Minute, HandshakeTimeout: time.Minute}
	ends = [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make(chan error, 2)
	for _, c := range ends {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(lossyTimeout))
		go func() { errs <- c.EnableDDP(ctx, nil) }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	return ends
}

// lossyOctets is how much goes each way in TestLossyPath.
func lossyOctets() int64 {
	if testing.Short() {
		return 1e7
	}
	return 1e9
}

// TestLossyPath moves 10^9 octets each way at the same time through a path with faults in both
// directions, as byte streams on one connection and by RDMA Writes on two: the SHA-256 is equal. With
// -short it is 10^7 octets.
func TestLossyPath(t *testing.T) {
	octets := lossyOctets()
	for which, test := range []struct {
		form string
		move func(t *testing.T, pair func() (a, b net.Conn, err error), octets int64) (sent, received [2][]byte)
	}{
		{"stream", lossyStreams}, {"write", lossyWrites},
	} {
		t.Run(test.form, func(t *testing.T) {
			x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64(), AB: lossyFaults, BA: lossyFaults})
			pair := x.pairs(t, which)
			begin := time.Now()
			sent, received := test.move(t, pair, octets)
			elapsed := time.Since(begin)
			for i := range sent {
				t.Logf("SHA-256 sent %.16x…, received %.16x…", sent[i], received[i])
				if !bytes.Equal(sent[i], received[i]) || len(sent[i]) == 0 {
					t.Errorf("sent %x, received %x", sent[i], received[i])
				}
			}
			t.Logf("%d octets each way in %v, %.0f MB/s", octets, elapsed, 2*float64(octets)/elapsed.Seconds()/1e6)
			wantLossy(t, x)
		})
	}
}

// lossyStreams exchanges byte streams on one connection.
func lossyStreams(t *testing.T, pair func() (a, b net.Conn, err error), octets int64) (sent, received [2][]byte) {
	ends := lossyPair(t, pair)
	var wg sync.WaitGroup
	for i, c := range ends {
		wg.Go(func() {
			var err error
			if sent[i], received[1-i], err = exchangeStreams(c, byte(i), octets); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return sent, received
}

// lossyWrites has each host write to memory of the other, on a connection of its own.
func lossyWrites(t *testing.T, pair func() (a, b net.Conn, err error), octets int64) (sent, received [2][]byte) {
	var wg sync.WaitGroup
	for i := range sent {
		ends := lossyPair(t, pair)
		wg.Go(func() {
			var err error
			if sent[i], err = sendWrites(ends[i], byte(i), octets); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			var err error
			if received[i], err = receiveWrites(ends[1-i], octets); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return sent, received
}

// TestLossySessions has sessions with every operation on paths with faults, over IPv4 and IPv6. The
// second path also cuts and merges segments, and corrupts some.
func TestLossySessions(t *testing.T) {
	worse := lossyFaults
	worse.Split, worse.Merge, worse.Corrupt = 0.3, 0.3, 0.02
	for _, test := range []struct {
		desc   string
		faults badlink.Faults
	}{{"lossy", lossyFaults}, {"worse", worse}} {
		t.Run(test.desc, func(t *testing.T) {
			x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64(), AB: test.faults, BA: test.faults})
			pairs := []func() (a, b net.Conn, err error){x.pairs(t, 0), x.pairs(t, 1)}
			inParallel(lossySessions, func(i int) {
				s := sessions[i/2%len(sessions)]
				a, b, err := pairs[i%2]()
				if err != nil {
					t.Error(err)
					return
				}
				done := make(chan error, 1)
				go func() { done <- s.run(b, false) }()
				if err := errors.Join(s.run(a, true), <-done); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			})
			wantLossy(t, x)
		})
	}
}

// TestRepairedChecksums sends streams through a path that changes payload and repairs the TCP
// checksum. Over plain TCP wrong octets arrive. Over MPA none does: each connection ends with an
// error, nearly always of the CRC.
func TestRepairedChecksums(t *testing.T) {
	const octets, conns = 1 << 20, 10
	d := newLossyData(0)
	want := d.next(octets)
	x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64()})
	pair := x.pairs(t, 0)
	bad := badlink.Faults{CorruptRepaired: 0.02}
	send := func(a, b net.Conn) (got []byte, err error) {
		if err := x.link.SetFaults(bad, badlink.Faults{}); err != nil {
			t.Fatal(err)
		}
		go func() {
			a.Write(want)
			a.Close()
		}()
		got, err = io.ReadAll(b)
		b.Close()
		if err := x.link.SetFaults(badlink.Faults{}, badlink.Faults{}); err != nil {
			t.Fatal(err)
		}
		return got, err
	}
	a, b, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := send(a, b); err != nil || len(got) != octets || bytes.Equal(got, want) {
		t.Errorf("plain TCP: %d octets, %v, want %d of which some are wrong", len(got), err, octets)
	}
	found := 0
	for range conns {
		ends := lossyPair(t, pair)
		got, err := send(ends[0], ends[1])
		if !bytes.HasPrefix(want, got) {
			t.Error("wrong octets arrived over MPA")
		}
		var m *mpa.Error
		if !errors.As(err, &m) || m.Code != mpa.CodeCRC && m.Code != mpa.CodeClosed {
			t.Errorf("%d octets arrived, and then %v, want an error of MPA", len(got), err)
		} else if m.Code == mpa.CodeCRC {
			found++
		}
	}
	ab, _ := x.link.Stats()
	t.Logf("%d of %d packets were changed; %d of %d connections ended with an error of the CRC", ab.Repaired, ab.In, found, conns)
	if found < conns/2 {
		t.Errorf("only %d of %d connections ended with an error of the CRC", found, conns)
	}
}
