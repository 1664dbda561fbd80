//go:build conformance || soak

package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/kernel"
)

func init() {
	roles["lossy sender"] = func() error { return lossyEnd(true) }
	roles["lossy receiver"] = func() error { return lossyEnd(false) }
}

// The two ends are in network namespaces of their own; what lies between them is two TUN devices
// and this process.
const (
	lossyFormEnv   = "RDDP_HOSTILE_FORM"
	lossyOctetsEnv = "RDDP_HOSTILE_OCTETS"
	lossyMTU       = 1500
	lossyBlock     = 1 << 20
	lossySlots     = 8 // blocks of memory that RDMA Writes go to
	lossyTimeout   = 4 * time.Minute
)

var lossyAddress = map[bool]string{true: "10.9.0.1", false: "10.9.0.2"}

// A lossyPath carries packets from one TUN device to the other, with faults.
type lossyPath struct {
	loss, reorder, duplicate float64
	rnd                      *rand.Rand
	from, to                 *os.File

	packets, lost, late, twice atomic.Int64
}

// run carries packets until from is closed. What is to be late waits until a few others have
// overtaken it, or for a moment.
func (p *lossyPath) run() {
	type held struct {
		b     []byte
		after int // packets
	}
	var mu sync.Mutex
	var waiting []held
	var quit = make(chan struct{})
	defer close(quit)
	release := func(all bool) {
		kept := waiting[:0]
		for _, h := range waiting {
			if h.after--; h.after <= 0 || all {
				p.to.Write(h.b) // what the device does not take is lost, as on any path
			} else {
				kept = append(kept, h)
			}
		}
		waiting = kept
	}
	go func() {
		t := time.NewTicker(2 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				mu.Lock()
				release(true)
				mu.Unlock()
			case <-quit:
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	for {
		n, err := p.from.Read(b)
		if err != nil {
			return
		}
		p.packets.Add(1)
		if p.rnd.Float64() < p.loss {
			p.lost.Add(1)
			continue
		}
		mu.Lock()
		if p.rnd.Float64() < p.reorder {
			p.late.Add(1)
			waiting = append(waiting, held{append([]byte(nil), b[:n]...), 2 + p.rnd.IntN(6)})
		} else {
			p.to.Write(b[:n])
			if p.rnd.Float64() < p.duplicate {
				p.twice.Add(1)
				p.to.Write(b[:n])
			}
			release(false)
		}
		mu.Unlock()
	}
}

// openTUN makes this process's TUN device, with an address, and returns its file.
func openTUN(address string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	const name = "rddp0"
	r, err := unix.NewIfreq(name)
	if err != nil {
		return -1, err
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return -1, fmt.Errorf("TUNSETIFF: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(s)
	for _, step := range []struct {
		request uint
		set     func(r *unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.ParseIP(address).To4()) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(lossyMTU); return nil }},
		{unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) error { r.SetUint32(5000); return nil }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
	} {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return -1, err
		}
		if err := errors.Join(step.set(r), unix.IoctlIfreq(s, step.request, r)); err != nil {
			return -1, fmt.Errorf("ioctl %#x: %w", step.request, err)
		}
	}
	return fd, nil
}

// lossyEnd is one of the two processes. It passes its TUN device to the parent, does its part of
// the transfer and prints the SHA-256 of what it has sent or received.
func lossyEnd(sender bool) error {
	time.AfterFunc(lossyTimeout, func() { os.Exit(3) })
	go orphaned()
	tun, err := openTUN(lossyAddress[sender])
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(tun), nil, 0); err != nil {
		return err
	}
	unix.Close(tun)
	unix.Close(3)
	octets, err := strconv.ParseInt(os.Getenv(lossyOctetsEnv), 10, 64)
	if err != nil {
		return err
	}
	// Reno and CUBIC take loss for congestion: 5 % of it would make them crawl.
	control := func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr") })
		return err
	}
	backend := &kernel.Backend{Dialer: net.Dialer{Control: control}, ListenConfig: net.ListenConfig{Control: control}}
	cfg := &extsock.Config{Backend: backend, Startup: extsock.StartupRequire, HandshakeTimeout: time.Minute, CloseTimeout: time.Minute}
	var c *extsock.Conn
	if sender {
		c, err = lossyDial(cfg)
	} else {
		var l *extsock.Listener
		if l, err = extsock.Listen("tcp", lossyAddress[false]+":7174", cfg); err == nil {
			c, err = acceptConn(l)
		}
	}
	if err != nil {
		return err
	}
	move := map[string]func(*extsock.Conn, int64) ([]byte, error){
		"stream": receiveStream, "write": receiveWrites,
	}
	if sender {
		move = map[string]func(*extsock.Conn, int64) ([]byte, error){"stream": sendStream, "write": sendWrites}
	}
	sum, err := move[os.Getenv(lossyFormEnv)](c, octets)
	if err != nil {
		return err
	}
	fmt.Printf("%x\n", sum)
	return c.Close()
}

// lossyDial dials until the other process listens.
func lossyDial(cfg *extsock.Config) (c *extsock.Conn, err error) {
	for range 600 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		c, err = (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", lossyAddress[false]+":7174")
		cancel()
		if err == nil {
			return c, nil
		}
		time.Sleep(50 * time.Millisecond) // the other process is starting
	}
	return nil, err
}

// lossyData makes the octets of a transfer, block by block: no two blocks are alike.
type lossyData struct {
	block []byte
	n     uint64
}

func newLossyData() *lossyData {
	d := &lossyData{block: make([]byte, lossyBlock)}
	r := rand.NewChaCha8([32]byte{1})
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

func sendStream(c *extsock.Conn, octets int64) ([]byte, error) {
	sum, d := sha256.New(), newLossyData()
	for left := octets; left > 0; {
		b := d.next(left)
		sum.Write(b)
		if _, err := c.Write(b); err != nil {
			return nil, err
		}
		left -= int64(len(b))
	}
	if err := c.CloseWrite(); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(c, make([]byte, 1)) // that all has been read
	return sum.Sum(nil), err
}

func receiveStream(c *extsock.Conn, octets int64) ([]byte, error) {
	sum := sha256.New()
	n, err := io.CopyBuffer(sum, struct{ io.Reader }{c}, make([]byte, 256<<10))
	if err != nil || n != octets {
		return nil, fmt.Errorf("%d octets, %w", n, err)
	}
	_, err = c.Write([]byte{1})
	return sum.Sum(nil), err
}

func sendWrites(c *extsock.Conn, octets int64) ([]byte, error) {
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return nil, err
	}
	m, sum, d := c.Remote(h), sha256.New(), newLossyData()
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

// startLossyEnd starts one of the two processes in a network namespace of its own and returns its
// TUN device.
func startLossyEnd(t *testing.T, role, form string, octets int64) (*child, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "socketpair")
	defer theirs.Close()
	defer unix.Close(fds[0])
	c := startChildWith(t, role, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		cmd.ExtraFiles = []*os.File{theirs}
	}, lossyFormEnv+"="+form, lossyOctetsEnv+"="+strconv.FormatInt(octets, 10))
	theirs.Close()
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(fds[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		t.Fatalf("the process in its network namespace gives no TUN device: %v", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		t.Fatal(err)
	}
	tun, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(tun[0], true); err != nil {
		t.Fatal(err)
	}
	return c, os.NewFile(uintptr(tun[0]), "tun")
}

// lossyTransfer moves octets through a path with 5 % loss, 10 % reordering and 1 % duplication in
// both directions.
func lossyTransfer(t *testing.T, form string, octets int64) {
	rnd := seeded(t)
	sender, a := startLossyEnd(t, "lossy sender", form, octets)
	receiver, b := startLossyEnd(t, "lossy receiver", form, octets)
	var wg sync.WaitGroup
	paths := [2]*lossyPath{{from: a, to: b}, {from: b, to: a}}
	for _, p := range paths {
		p.loss, p.reorder, p.duplicate = 0.05, 0.10, 0.01
		p.rnd = rand.New(rand.NewPCG(rnd.Uint64(), 0))
		wg.Go(p.run)
	}
	begin := time.Now()
	want, got := sender.line(t), receiver.line(t)
	elapsed := time.Since(begin)
	sender.end(t)
	receiver.end(t)
	a.Close()
	b.Close()
	wg.Wait()
	t.Logf("%s: %d octets in %v, %.0f MB/s, SHA-256 %.16s…", form, octets, elapsed, float64(octets)/elapsed.Seconds()/1e6, got)
	for i, p := range paths {
		t.Logf("%s: %d packets, %d lost, %d late, %d twice", []string{"there", "back"}[i], p.packets.Load(), p.lost.Load(), p.late.Load(), p.twice.Load())
		if p.lost.Load() == 0 || p.late.Load() == 0 {
			t.Error("the path is not lossy")
		}
	}
	if want != got {
		t.Errorf("sent %s, received %s", want, got)
	}
}

// TestLossyPath moves 10^9 octets through the lossy path in each form, as a byte stream and by RDMA
// Writes: the SHA-256 is equal. It needs root, /dev/net/tun and BBR, and fails without.
func TestLossyPath(t *testing.T) {
	for _, form := range []string{"stream", "write"} {
		t.Run(form, func(t *testing.T) { lossyTransfer(t, form, 1e9) })
	}
}
