//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["client"], programs["client-of"] = clientProgram, clientOfProgram }

// clientLimit ends a test program that hangs.
const clientLimit = 2 * time.Minute

// A client is one end of a connection of package verbs, with one Region: the first half is for
// receiving, the second for sending.
type client struct {
	ctx    context.Context
	qp     *verbs.QP
	region *verbs.Region
	peer   rdmap.Handle // of the peer's memory
}

const half = 1 << 20

// clientProgram connects two ends within one program, and checks the data that arrives.
func clientProgram([]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	before := goleak.IgnoreCurrent()
	files, err := countFiles()
	if err != nil {
		return err
	}
	for range 3 {
		if err := errors.Join(runClients(ctx), closeClients(ctx)); err != nil {
			return err
		}
	}
	if err := goleak.Find(before); err != nil {
		return err
	}
	if now, err := countFiles(); err != nil || now > files {
		return fmt.Errorf("%d files, %d before (%v)", now, files, err)
	}
	return nil
}

// countFiles returns the number of open descriptors. The first call in a process also counts the
// descriptors that the runtime then opens for itself.
func countFiles() (int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	return len(entries), err
}

func runClients(ctx context.Context) (err error) {
	d, err := verbs.Open("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	a, b, l, err := connect(ctx, d)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := exchange(a, b); err != nil {
		return err
	}
	if err := rejects(ctx, d); err != nil {
		return err
	}
	if err := extensions(d, a, b); err != nil {
		return err
	}
	if err := refusals(d, a); err != nil {
		return err
	}
	// When one end closes, the other ends too, and its receive is flushed.
	if err := b.qp.PostReceive(99, verbs.Segment{Region: b.region, Len: 8}); err != nil {
		return err
	}
	_ = a.qp.Close()
	var c [4]verbs.Completion
	var w *verbs.WorkError
	if n, err := b.qp.Wait(ctx, c[:]); err != nil || n != 1 || c[0].ID != 99 || !errors.As(c[0].Err, &w) || w.Kind() != rdmap.StatusFlushed {
		return fmt.Errorf("Wait after the end = %d %+v, %v", n, c[0], err)
	}
	if n, err := b.qp.Wait(ctx, c[:]); n != 0 || !errors.Is(err, verbs.ErrDisconnected) {
		return fmt.Errorf("the second Wait after the end = %d, %v", n, err)
	}
	_ = b.qp.Close()
	return errors.Join(a.region.Close(), b.region.Close())
}

// connect connects two ends.
func connect(ctx context.Context, d *verbs.Device) (a, b *client, l *verbs.Listener, err error) {
	if l, err = d.Listen(netip.MustParseAddrPort("127.0.0.1:0")); err != nil {
		return nil, nil, nil, err
	}
	a, b = &client{ctx: ctx}, &client{ctx: ctx}
	accepted := make(chan error, 1)
	go func() {
		var err error
		b.qp, err = l.Accept(ctx, verbs.Config{PrivateData: []byte("welcome"), Prepare: b.prepare(d)})
		accepted <- err
	}()
	a.qp, err = d.Dial(ctx, l.Addr(), verbs.Config{PrivateData: []byte("hello"), Prepare: a.prepare(d)})
	if err := errors.Join(err, <-accepted); err != nil {
		return nil, nil, l, err
	}
	for _, c := range []struct {
		end  *client
		want string
	}{{a, "welcome"}, {b, "hello"}} {
		if got := string(bytes.TrimRight(c.end.qp.PrivateData(), "\x00")); got != c.want {
			return nil, nil, l, fmt.Errorf("private data %q, want %q", got, c.want)
		}
	}
	return a, b, l, nil
}

// rejects makes the accepting end refuse a request because of its private data.
func rejects(ctx context.Context, d *verbs.Device) error {
	l, err := d.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		return err
	}
	defer l.Close()
	errWrong := errors.New("wrong")
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx, verbs.Config{Prepare: func(q *verbs.QP) error {
			if bytes.HasPrefix(q.PrivateData(), []byte("right")) {
				return nil
			}
			return errWrong
		}})
		accepted <- err
	}()
	var refused *verbs.ConnectError
	if _, err := d.Dial(ctx, l.Addr(), verbs.Config{PrivateData: []byte("left")}); !errors.As(err, &refused) {
		return fmt.Errorf("Dial of one that refuses = %v, want a ConnectError", err)
	}
	if err := <-accepted; !errors.Is(err, errWrong) {
		return fmt.Errorf("Accept = %v, want the error of Prepare", err)
	}
	if _, err := d.Dial(ctx, l.Addr(), verbs.Config{PrivateData: make([]byte, 256)}); err == nil || errors.As(err, &refused) {
		return fmt.Errorf("Dial with too much private data = %v", err)
	}
	return nil
}

// closeClients closes the device while calls wait. They return, and each later call fails with
// os.ErrClosed. The memory of a Region stays valid until its Close, which releases it.
func closeClients(ctx context.Context) error {
	d, err := verbs.Open("")
	if err != nil {
		return err
	}
	a, b, l, err := connect(ctx, d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	wait := func() error {
		_, err := a.qp.Wait(ctx, make([]verbs.Completion, 1))
		return err
	}
	accept := func() error {
		_, err := l.Accept(ctx, verbs.Config{})
		return err
	}
	ended := make(chan error, 2)
	go func() {
		for {
			// The device closes one end after the other, so this end may see the disconnect and the
			// flushed work requests.
			switch err := wait(); {
			case errors.Is(err, verbs.ErrDisconnected):
				ended <- os.ErrClosed
				return
			case err != nil:
				ended <- err
				return
			}
		}
	}()
	go func() { ended <- accept() }()
	if err := errors.Join(a.region.Close(), d.Close()); err != nil {
		return err
	}
	b.region.Bytes()[0]++
	if err := b.region.Close(); err != nil || b.region.Bytes() != nil {
		return fmt.Errorf("a Region of a closed device: Close = %v, and %d bytes are left", err, len(b.region.Bytes()))
	}
	if _, err := d.NewRegion(1, 0); !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("NewRegion on a closed device: %v", err)
	}
	for _, err := range []error{<-ended, <-ended, wait(), accept(), a.qp.Post(verbs.Request{Op: verbs.OpSend}), b.qp.PostReceive(1)} {
		if !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("on a closed device: %v", err)
		}
	}
	return errors.Join(a.qp.Close(), b.qp.Close(), l.Close(), d.Close())
}

// prepare registers the memory and posts the receive for the peer's key.
func (c *client) prepare(d *verbs.Device) func(*verbs.QP) error {
	return func(q *verbs.QP) (err error) {
		rights := ddp.RemoteRead | ddp.RemoteWrite
		if d.Can(verbs.OpFetchAdd) {
			rights |= ddp.RemoteAtomic
		}
		if c.region, err = d.NewRegion(2*half, rights); err != nil {
			return err
		}
		return q.PostReceive(1, verbs.Segment{Region: c.region, Len: 16})
	}
}

// want waits for one completion, which must have the ID and no error.
func (c *client) want(id uint64, op verbs.Op, n int) error {
	var done [1]verbs.Completion
	if _, err := c.qp.Wait(c.ctx, done[:]); err != nil {
		return err
	}
	if want := (verbs.Completion{ID: id, Op: op, Len: n}); done[0] != want {
		return fmt.Errorf("completion %+v, want %+v", done[0], want)
	}
	return nil
}

// wantAll waits for these completions, in any order, because two queues are not ordered with each
// other.
func (c *client) wantAll(all ...verbs.Completion) error {
	for len(all) > 0 {
		var done [1]verbs.Completion
		if _, err := c.qp.Wait(c.ctx, done[:]); err != nil {
			return err
		}
		i := slices.Index(all, done[0])
		if i < 0 {
			return fmt.Errorf("completion %+v, want one of %+v", done[0], all)
		}
		all = slices.Delete(all, i, i+1)
	}
	return nil
}

// hello sends the handle of its own memory.
func (c *client) hello() error {
	h := c.region.Handle()
	b := c.region.Bytes()[half:]
	binary.LittleEndian.PutUint64(b, h.TO)
	binary.LittleEndian.PutUint64(b[8:], uint64(h.STag))
	if err := c.qp.Post(verbs.Request{ID: 2, Op: verbs.OpSend}, verbs.Segment{Region: c.region, Off: half, Len: 8}, verbs.Segment{Region: c.region, Off: half + 8, Len: 8}); err != nil {
		return err
	}
	return c.want(2, verbs.OpSend, 0)
}

func (c *client) hear() error {
	if err := c.want(1, verbs.OpReceive, 16); err != nil {
		return err
	}
	b := c.region.Bytes()
	c.peer = rdmap.Handle{TO: binary.LittleEndian.Uint64(b), STag: ddp.STag(binary.LittleEndian.Uint64(b[8:]))}
	return nil
}

// exchange sends each end the handle of the other's memory, and then writes and reads that memory.
// A Send after each Write tells the peer that the data is there.
func exchange(a, b *client) error {
	for _, step := range []func() error{a.hello, b.hear, b.hello, a.hear} {
		if err := step(); err != nil {
			return err
		}
	}
	r := rand.NewChaCha8([32]byte{7})
	for _, ends := range [][2]*client{{a, b}, {b, a}} {
		from, to := ends[0], ends[1]
		for _, n := range []int{1, 4096, half} {
			_, _ = r.Read(from.region.Bytes()[half:]) // it never fails
			sent := bytes.Clone(from.region.Bytes()[half:][:n])
			all := verbs.Segment{Region: from.region, Off: half, Len: n}
			if err := errors.Join(
				to.qp.PostReceive(3),
				from.qp.Post(verbs.Request{ID: 4, Op: verbs.OpWrite, Remote: from.peer}, all),
				from.qp.Post(verbs.Request{ID: 5, Op: verbs.OpSend}),
				from.want(4, verbs.OpWrite, 0), from.want(5, verbs.OpSend, 0), to.want(3, verbs.OpReceive, 0),
			); err != nil {
				return err
			}
			if !bytes.Equal(to.region.Bytes()[:n], sent) {
				return fmt.Errorf("a Write of %d bytes is not there", n)
			}
			clear(from.region.Bytes()[half:])
			if err := errors.Join(
				from.qp.Post(verbs.Request{ID: 6, Op: verbs.OpRead, Remote: from.peer}, all), from.want(6, verbs.OpRead, 0),
			); err != nil {
				return err
			}
			if !bytes.Equal(from.region.Bytes()[half:][:n], sent) {
				return fmt.Errorf("a Read of %d bytes has got others", n)
			}
		}
	}
	return nil
}

// extensions uses atomics and Immediate Data, or checks that they are refused.
func extensions(d *verbs.Device, a, b *client) error {
	old := verbs.Segment{Region: a.region, Off: half, Len: 8}
	counter := b.region.Bytes()[:8]
	binary.NativeEndian.PutUint64(counter, 40)
	steps := []struct {
		r      verbs.Request
		before uint64
		after  uint64
	}{
		{verbs.Request{Op: verbs.OpFetchAdd, Add: 2}, 40, 42},
		{verbs.Request{Op: verbs.OpCmpSwap, Compare: 41, Swap: 7}, 42, 42},
		{verbs.Request{Op: verbs.OpCmpSwap, Compare: 42, Swap: 7}, 42, 7},
	}
	for _, s := range steps {
		s.r.ID, s.r.Remote = 8, a.peer
		err := a.qp.Post(s.r, old)
		if !d.Can(s.r.Op) {
			var u *verbs.UnavailableError
			if !errors.As(err, &u) || u.Reason != verbs.NotSupported {
				return fmt.Errorf("%v = %v, want NotSupported", s.r.Op, err)
			}
			continue
		}
		if err := errors.Join(err, a.want(8, s.r.Op, 0)); err != nil {
			return err
		}
		if got, now := binary.NativeEndian.Uint64(a.region.Bytes()[half:]), binary.NativeEndian.Uint64(counter); got != s.before || now != s.after {
			return fmt.Errorf("%+v has found %d and left %d", s, got, now)
		}
	}
	for _, o := range []verbs.Op{verbs.OpSendImmediate, verbs.OpWriteImmediate} {
		if !d.Can(o) {
			continue
		}
		if err := errors.Join(
			b.qp.PostReceive(9, verbs.Segment{Region: b.region, Off: 8, Len: 8}),
			a.qp.Post(verbs.Request{ID: 8, Op: o, Remote: a.peer, Immediate: 0x01020304}, old),
			a.want(8, o, 0), b.wantAll(verbs.Completion{ID: 9, Op: verbs.OpReceive, Len: 8, From: o, Immediate: 0x01020304}),
		); err != nil {
			return err
		}
	}
	return nil
}

// refusals tries requests that are refused without harm to the connection.
func refusals(d *verbs.Device, c *client) error {
	closed, err := d.NewRegion(8, 0)
	if err != nil {
		return err
	}
	if err := closed.Close(); err != nil {
		return err
	}
	for _, s := range []verbs.Segment{{}, {Region: closed, Len: 8}, {Region: c.region, Off: -1}, {Region: c.region, Off: 2 * half, Len: 1}, {Region: c.region, Len: -1}} {
		if err := c.qp.Post(verbs.Request{Op: verbs.OpSend}, s); !errors.Is(err, verbs.ErrSegment) {
			return fmt.Errorf("Post(%+v) = %v, want ErrSegment", s, err)
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	if _, err := c.qp.Wait(ctx, make([]verbs.Completion, 1)); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Wait under a canceled context = %v", err)
	}
	// Nobody listens on port 1.
	var refused *verbs.ConnectError
	if _, err := d.Dial(c.ctx, netip.MustParseAddrPort("127.0.0.1:1"), verbs.Config{}); !errors.As(err, &refused) {
		return fmt.Errorf("Dial of nobody = %v, want a ConnectError", err)
	}
	for i := 0; ; i++ {
		switch err := c.qp.PostReceive(uint64(i)); {
		case errors.Is(err, verbs.ErrQueueFull) && i == 64:
			return nil
		case err != nil || i == 64:
			return fmt.Errorf("PostReceive %d = %v, want ErrQueueFull for the 65th", i, err)
		}
	}
}

// TestVerbsClient runs a program of package verbs on either kind of device.
func TestVerbsClient(t *testing.T) {
	for _, kind := range []string{supervise, superviseIWARP} {
		t.Run(kind, func(t *testing.T) {
			c := under(performance(t, "client")...)
			c.Args[0] = kind
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestVerbsClientWithoutDevice: opening a device that does not exist fails, on this machine and
// under a supervisor.
func TestVerbsClientWithoutDevice(t *testing.T) {
	if err := openNobody(nil); err != nil {
		t.Error(err)
	}
	c := under(performance(t, "client-refused")...)
	if err := c.Run(); err != nil {
		t.Error(err)
	}
}

func init() { programs["client-refused"] = openNobody }

func openNobody([]string) error {
	var u *verbs.UnavailableError
	if d, err := verbs.Open("nobody"); !errors.As(err, &u) || u.Reason != verbs.NoDevice {
		return fmt.Errorf("Open of nobody = %v, %v", d, err)
	}
	return nil
}

// clientOfProgram sends one message to a peer and receives one.
func clientOfProgram(args []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	addr, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	d, err := verbs.Open("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c := &client{ctx: ctx}
	if c.qp, err = d.Dial(ctx, addr, verbs.Config{Prepare: c.prepare(d)}); err != nil {
		return err
	}
	n := copy(c.region.Bytes()[half:], "ping")
	if err := errors.Join(
		c.qp.Post(verbs.Request{ID: 2, Op: verbs.OpSend}, verbs.Segment{Region: c.region, Off: half, Len: n}),
		c.wantAll(verbs.Completion{ID: 1, Op: verbs.OpReceive, Len: 4}, verbs.Completion{ID: 2, Op: verbs.OpSend}),
	); err != nil {
		return err
	}
	if got := string(c.region.Bytes()[:4]); got != "pong" {
		return fmt.Errorf("the peer says %q", got)
	}
	return errors.Join(c.qp.Close(), c.region.Close())
}

// TestVerbsClientOfExtsock: the peer is package extsock in this process, which knows only that the
// program speaks iWARP.
func TestVerbsClientOfExtsock(t *testing.T) {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, Messages: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			b := make([]byte, 16)
			n, err := c.Read(b)
			if err != nil || string(b[:n]) != "ping" {
				return fmt.Errorf("Read = %q, %v", b[:n], err)
			}
			if _, err := c.Write([]byte("pong")); err != nil {
				return err
			}
			if n, err := c.Read(b); err == nil {
				return fmt.Errorf("Read behind the end = %q", b[:n])
			}
			return nil
		}()
	}()
	c := under(performance(t, "client-of", l.Addr().String())...)
	c.Args[0] = superviseIWARP
	if err := c.Run(); err != nil {
		_ = l.Close()
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
