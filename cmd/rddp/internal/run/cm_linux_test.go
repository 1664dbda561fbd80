//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// superviseIWARP is the name of a supervisor whose device is an RNIC.
const superviseIWARP = "supervise-iwarp"

// A dialog is a program that uses rdma_cm and talks to the other program over its standard streams.
type dialog struct {
	joined
	cm    *guest.CM
	pd    uint32
	space uint16 // of the ids
}

func newDialog() (*dialog, error) {
	d := &dialog{space: guest.TCPSpace}
	var err error
	if d.cm, err = guest.OpenCM(); err != nil {
		return nil, err
	}
	if d.Context, err = guest.OpenDevice(); err != nil {
		return nil, err
	}
	if d.pd, err = d.PD(); err != nil {
		return nil, err
	}
	memory, err := pages(bufferLen)
	if err != nil {
		return nil, err
	}
	if d.mr, err = d.Register(d.pd, memory, guest.All); err != nil {
		return nil, err
	}
	d.cq, err = d.CQ(100, -1, 7)
	return d, err
}

// newQP makes the queue pair for an id.
func (d *dialog) newQP(id uint32) (err error) {
	if d.qp, err = d.QP(guest.QPConfig{PD: d.pd, Send: d.cq, Recv: d.cq, Depth: 20, SGEs: 1, Inline: 64}); err != nil {
		return err
	}
	return d.cm.InitQP(id, d.qp)
}

// listen makes an id listen, and returns its number and its port.
func (d *dialog) listen(uid uint64, backlog uint32) (uint32, uint16, error) {
	id, err := d.cm.ID(uid, d.space)
	if err != nil {
		return 0, 0, err
	}
	if err := d.cm.Bind(id, 0); err != nil {
		return 0, 0, fmt.Errorf("BIND: %w", err)
	}
	port, _, device, err := d.cm.Ports(id)
	if err != nil || port == 0 || !device {
		return 0, 0, fmt.Errorf("after BIND: port %d, device: %v, %v", port, device, err)
	}
	if err := d.cm.Listen(id, backlog); err != nil {
		return 0, 0, fmt.Errorf("LISTEN: %w", err)
	}
	return id, port, nil
}

// routed makes an id with a route to a port.
func (d *dialog) routed(uid uint64, port uint16) (uint32, error) {
	id, err := d.cm.ID(uid, d.space)
	if err != nil {
		return 0, err
	}
	if err := d.cm.Resolve(id, port); err != nil {
		return 0, fmt.Errorf("RESOLVE_ADDR: %w", err)
	}
	if _, err := d.cm.Want(uid, guest.AddrResolved); err != nil {
		return 0, err
	}
	if err := d.cm.Route(id); err != nil {
		return 0, fmt.Errorf("RESOLVE_ROUTE: %w", err)
	}
	_, err = d.cm.Want(uid, guest.RouteResolved)
	return id, err
}

// connectProgram connects two programs. It checks each event, sends data in both directions, and
// disconnects.
func connectProgram(args []string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	if args[0] == "first" {
		return d.serve(args[1])
	}
	return d.dial(args[1])
}

// established waits until the connection that the program has requested is established.
func (d *dialog) established(id uint32, uid uint64) (guest.Event, error) {
	node, err := os.ReadFile("/sys/class/infiniband/" + DeviceName + "/node_type")
	if err != nil {
		return guest.Event{}, err
	}
	if strings.Contains(string(node), "RNIC") {
		return d.cm.Want(uid, guest.Established)
	}
	e, err := d.cm.Want(uid, guest.ConnectResponse)
	if err != nil {
		return e, err
	}
	return e, d.cm.Confirm(id)
}

// connectData is long, so that it takes several segments and pieces.
const connectData = 300_000

// serve waits for a connection.
func (d *dialog) serve(port string) error {
	listener, p, err := d.listen(1, 0)
	if err != nil {
		return err
	}
	if err := os.WriteFile(port, fmt.Appendf(nil, "%d", p), 0o600); err != nil {
		return err
	}
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil || e.Data != "hello from below" || e.Responder != 5 || e.Depth != 6 {
		return fmt.Errorf("request %+v, %w", e, err)
	}
	if src, _, device, err := d.cm.Ports(e.ID); err != nil || src != p || !device {
		return fmt.Errorf("the request is at port %d, device: %v, %w", src, device, err)
	}
	if err := d.newQP(e.ID); err != nil {
		return err
	}
	d.qp.PostRecv(10, d.mr.Part(0, connectData))
	if err := d.cm.Accept(e.ID, 2, guest.Param{QPN: d.qp.Num, Data: fmt.Sprint(d.mr.Key, d.mr.Addr), Responder: 4, Depth: 3}); err != nil {
		return fmt.Errorf("ACCEPT: %w", err)
	}
	if _, err := d.cm.Want(2, guest.Established); err != nil {
		return err
	}
	if s, err := d.qp.State(); s != guest.RTS || err != nil {
		return fmt.Errorf("the queue pair is in state %d, %w", s, err)
	}
	if err := d.poll(10); err != nil {
		return err
	}
	for i, b := range d.mr.B[:connectData] {
		if b != byte(i*7) {
			return fmt.Errorf("byte %d is wrong", i)
		}
	}
	send := guest.WR{ID: 11, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{d.mr.Part(0, connectData)}}
	if err := errors.Join(d.qp.Post(send), d.poll(11)); err != nil {
		return err
	}
	d.qp.PostRecv(12, d.mr.Part(0, 10)) // flushed
	if _, err := d.cm.Want(2, guest.Disconnected); err != nil {
		return err
	}
	if s, err := d.qp.State(); s != guest.Err || err != nil {
		return fmt.Errorf("the queue pair is in state %d, %w", s, err)
	}
	if w := next(d.cq); w.ID != 12 || w.Status != 5 {
		return fmt.Errorf("completion %+v, want a flushed receive", w)
	}
	if err := d.cm.Disconnect(e.ID); err != nil { // as programs do
		return fmt.Errorf("DISCONNECT after the end: %w", err)
	}
	if n, err := d.cm.DestroyID(listener); n != 1 || err != nil {
		return fmt.Errorf("the listener has had %d events, %w", n, err)
	}
	return nil
}

// dial connects to a port.
func (d *dialog) dial(file string) error {
	port, err := awaitPort(file)
	if err != nil {
		return err
	}
	id, err := d.routed(1, port)
	if err != nil {
		return err
	}
	if src, dst, device, err := d.cm.Ports(id); err != nil || src == 0 || dst != port || !device {
		return fmt.Errorf("from port %d to %d, device: %v, %w", src, dst, device, err)
	}
	if err := d.newQP(id); err != nil {
		return err
	}
	d.qp.PostRecv(20, d.mr.Part(connectData, connectData))
	if err := d.cm.Connect(id, guest.Param{QPN: d.qp.Num, Data: "hello from below", Responder: 6, Depth: 5}); err != nil {
		return fmt.Errorf("CONNECT: %w", err)
	}
	e, err := d.established(id, 1)
	if err != nil || e.Responder != 3 || e.Depth != 4 {
		return fmt.Errorf("reply %+v, %w", e, err)
	}
	for i := range connectData {
		d.mr.B[i] = byte(i * 7)
	}
	if err := d.oneSided(e.Data); err != nil {
		return err
	}
	send := guest.WR{ID: 21, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{d.mr.Part(0, connectData)}}
	if err := d.qp.Post(send); err != nil {
		return err
	}
	// The two may complete in either order.
	a, b := next(d.cq), next(d.cq)
	if a.Status != 0 || b.Status != 0 || a.ID+b.ID != 41 {
		return fmt.Errorf("completions %+v and %+v", a, b)
	}
	if !bytes.Equal(d.mr.B[:connectData], d.mr.B[connectData:2*connectData]) {
		return errors.New("the wrong bytes have come back")
	}
	if err := d.cm.Disconnect(id); err != nil {
		return fmt.Errorf("DISCONNECT: %w", err)
	}
	if _, err := d.cm.Want(1, guest.Disconnected); err != nil {
		return err
	}
	_, err = d.cm.DestroyID(id)
	return err
}

// oneSided writes to the memory of the peer that handle names, and reads it back.
func (d *dialog) oneSided(handle string) error {
	var key uint32
	var addr uint64
	if _, err := fmt.Sscan(handle, &key, &addr); err != nil {
		return err
	}
	const far = 2 * connectData                                                                                          // no test looks here
	w := guest.WR{ID: 22, Op: guest.OpWrite, Remote: addr + far, Key: key, List: []guest.SGE{d.mr.Part(0, connectData)}} // not signaled
	r := w
	r.ID, r.Op, r.Flags, r.List = 23, guest.OpRead, guest.Signaled, []guest.SGE{d.mr.Part(far, connectData)}
	empty := guest.WR{ID: 24, Op: guest.OpWrite, Flags: guest.Signaled}
	if err := errors.Join(d.qp.Post(w), d.qp.Post(r), d.qp.Post(empty), d.poll(23), d.poll(24)); err != nil {
		return err
	}
	if !bytes.Equal(d.mr.B[:connectData], d.mr.B[far:far+connectData]) {
		return errors.New("what was written is not what was read")
	}
	return nil
}

// awaitPort reads the port of another program from a named pipe.
func awaitPort(file string) (uint16, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(b), 10, 16)
	return uint16(n), err
}

// namedPipe makes a named pipe, through which one program sends another its port.
func namedPipe(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/port"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConnect(t *testing.T) {
	for _, face := range []string{supervise, superviseIWARP} {
		t.Run(face, func(t *testing.T) {
			file := namedPipe(t)
			first := under(performance(t, "connect", "first", file)...)
			second := under(performance(t, "connect", "second", file)...)
			first.Args[0], second.Args[0] = face, face
			if err := errors.Join(first.Start(), second.Run(), first.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A device of either kind accepts plain iWARP connections from the other kind.
func TestConnectFaces(t *testing.T) {
	file := namedPipe(t)
	first := under(performance(t, "connect", "first", file)...)
	second := under(performance(t, "connect", "second", file)...)
	second.Args[0] = superviseIWARP
	if err := errors.Join(first.Start(), second.Run(), first.Wait()); err != nil {
		t.Error(err)
	}
}

// refusalProgram tries connections that fail, within one program.
func refusalProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	listener, port, err := d.listen(1, 1)
	if err != nil {
		return err
	}
	if d.cm.Pending() {
		return errors.New("an event without a reason")
	}
	if err := d.cm.SetNonblock(true); err != nil {
		return err
	}
	if _, err := d.cm.Event(); err != syscall.EAGAIN {
		return fmt.Errorf("no event: %w, want EAGAIN", err)
	}
	if err := d.cm.SetNonblock(false); err != nil {
		return err
	}
	// The program rejects.
	id, err := d.routed(2, port)
	if err != nil {
		return err
	}
	if err := d.newQP(id); err != nil {
		return err
	}
	if err := d.cm.Connect(id, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil {
		return err
	}
	if err := d.cm.Reject(e.ID, "no"); err != nil {
		return err
	}
	if e, err := d.cm.Want(2, guest.Rejected); err != nil || e.Data != "no" || e.Status == 0 {
		return fmt.Errorf("%+v, %w", e, err)
	}
	if err := d.cm.Connect(id, guest.Param{QPN: d.qp.Num}); err != syscall.EINVAL {
		return fmt.Errorf("CONNECT after a rejection: %w", err)
	}
	if _, err := d.cm.DestroyID(e.ID); err != nil {
		return err
	}
	// A request whose id is destroyed, and one for which the backlog has no room.
	client := *d
	if client.cm, err = guest.OpenCM(); err != nil {
		return err
	}
	for uid := uint64(3); uid <= 4; uid++ {
		if id, err = client.routed(uid, port); err != nil {
			return err
		}
		if err := client.newQP(id); err != nil {
			return err
		}
		if err := client.cm.Connect(id, guest.Param{QPN: client.qp.Num}); err != nil {
			return err
		}
		if uid == 3 {
			if err := d.cm.Await(); err != nil { // until the request is there
				return err
			}
		}
	}
	if _, err := client.cm.Want(4, guest.Rejected); err != nil {
		return err
	}
	if e, err = d.cm.Want(1, guest.ConnectRequest); err != nil {
		return err
	}
	if _, err := d.cm.DestroyID(e.ID); err != nil {
		return err
	}
	if _, err := client.cm.Want(3, guest.Rejected); err != nil {
		return err
	}
	// Nobody listens.
	if n, err := d.cm.DestroyID(listener); n != 2 || err != nil {
		return fmt.Errorf("the listener has had %d events, %w", n, err)
	}
	if id, err = d.routed(5, port); err != nil {
		return err
	}
	if err := d.newQP(id); err != nil {
		return err
	}
	if err := d.cm.Connect(id, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	_, err = d.cm.Want(5, guest.Rejected)
	return err
}

func TestRefusals(t *testing.T) {
	for _, face := range []string{supervise, superviseIWARP} {
		c := under(performance(t, "refusal")...)
		c.Args[0] = face
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
}

// errnoProgram compares errors with those of the kernel.
func errnoProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	other, err := guest.OpenCM()
	if err != nil {
		return err
	}
	id, err := d.cm.ID(1, guest.TCPSpace)
	if err != nil {
		return err
	}
	short := make([]byte, 4)
	_, create := d.cm.ID(1, 0x7777)
	_, unknown := d.cm.Do(99, make([]byte, 104), 0, 0)
	_, option := d.cm.Do(13, make([]byte, 104), 0, 0)
	_, noAnswer := d.cm.Do(0, make([]byte, 24), 0, 0)
	_, brief := d.cm.Do(2, short, 0, 0)
	_, tiny := unix.Write(d.cm.FD, short)
	_, nothing := unix.Write(d.cm.FD, nil)
	_, room := d.cm.Do(12, make([]byte, 8), 0, 100)
	_, elsewhere := other.DestroyID(id)
	_, none := d.cm.DestroyID(12345)
	_, migrate := d.cm.Migrate(id, &guest.CM{FD: 0})
	for _, x := range []struct {
		desc string
		got  error
		want syscall.Errno
	}{
		{"a port space that there is not", create, syscall.EINVAL},
		{"a command that there is not", unknown, syscall.EINVAL},
		{"a command that the kernel has not", option, syscall.ENOSYS},
		{"CREATE_ID without room for the answer", noAnswer, syscall.ENOSPC},
		{"BIND_IP that is short", brief, syscall.EINVAL},
		// The filter does not name writes of lengths that no command has; the kernel's rdma_cm says
		// EINVAL.
		{"a write without a header", tiny, syscall.EBADF},
		{"a write of nothing", nothing, syscall.EBADF},
		{"GET_EVENT without room", room, syscall.ENOSPC},
		{"an id of another channel", elsewhere, syscall.EINVAL},
		{"an id that there is not", none, syscall.ENOENT},
		{"MIGRATE_ID from what is no channel", migrate, syscall.EINVAL},
		{"ROUTE before the address", d.cm.Route(id), syscall.EINVAL},
		{"CONNECT before the route", d.cm.Connect(id, guest.Param{}), syscall.EINVAL},
		{"ACCEPT of what is no request", d.cm.Accept(id, 1, guest.Param{}), syscall.EINVAL},
		{"REJECT of what is no request", d.cm.Reject(id, ""), syscall.EINVAL},
		{"DISCONNECT before there is a connection", d.cm.Disconnect(id), syscall.EINVAL},
		{"BIND", d.cm.Bind(id, 0), 0},
		{"BIND again", d.cm.Bind(id, 0), syscall.EINVAL},
	} {
		if !errors.Is(x.got, x.want) && (x.want != 0 || x.got != nil) {
			return fmt.Errorf("%s: %v, want %w", x.desc, x.got, x.want)
		}
	}
	// A port that is in use.
	port, _, _, err := d.cm.Ports(id)
	if err != nil {
		return err
	}
	second, err := d.cm.ID(2, guest.TCPSpace)
	if err != nil {
		return err
	}
	if err := d.cm.Bind(second, port); err != syscall.EADDRINUSE {
		return fmt.Errorf("BIND to a port in use: %w", err)
	}
	// A queue pair of a kind that rdma_cm does not connect.
	if id, err = d.routed(3, port); err != nil {
		return err
	}
	uc, err := d.QP(guest.QPConfig{PD: d.pd, Send: d.cq, Recv: d.cq, Depth: 1, SGEs: 1, Type: 3})
	if err != nil {
		return err
	}
	if err := d.cm.Connect(id, guest.Param{QPN: uc.Num}); err != syscall.EINVAL {
		return fmt.Errorf("CONNECT of a UC queue pair: %w", err)
	}
	// Events move with the id.
	if id, err = d.cm.ID(4, guest.TCPSpace); err != nil {
		return err
	}
	if err := d.cm.Resolve(id, port); err != nil {
		return err
	}
	if n, err := other.Migrate(id, d.cm); n != 0 || err != nil {
		return fmt.Errorf("MIGRATE_ID: %d events, %w", n, err)
	}
	if d.cm.Pending() || !other.Pending() {
		return errors.New("the event has not moved with its id")
	}
	if _, err := other.Want(4, guest.AddrResolved); err != nil {
		return err
	}
	if other.Pending() {
		return errors.New("the channel is readable without an event")
	}
	return nil
}

func TestCMErrors(t *testing.T) {
	if err := under(performance(t, "errno")...).Run(); err != nil {
		t.Error(err)
	}
}

// abuseCMProgram sends random commands. The supervisor must continue to serve it.
func abuseCMProgram(args []string) error {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	d, err := newDialog()
	if err != nil {
		return err
	}
	if err := d.cm.SetNonblock(true); err != nil {
		return err
	}
	_, port, err := d.listen(1, 0)
	if err != nil {
		return err
	}
	for range 2000 {
		in := make([]byte, random.IntN(300))
		for i := range in {
			if random.IntN(8) == 0 {
				in[i] = byte(random.Uint32())
			}
		}
		_, _ = d.cm.Do(random.Uint32N(25), in, 0, 0)
		_, _ = unix.Write(d.cm.FD, in)
		if len(in) > 8 {
			_, _ = d.cm.Do(random.Uint32N(25), in, random.IntN(len(in)-8), random.IntN(400)+1)
		}
	}
	for range 500 { // ids in any order
		id := random.Uint32N(20)
		switch random.IntN(11) {
		case 0:
			_, _ = d.cm.ID(uint64(id)+10, guest.TCPSpace)
		case 1:
			_, _ = d.cm.DestroyID(id)
		case 2:
			_ = d.cm.Bind(id, 0)
		case 3:
			_ = d.cm.Listen(id, 1)
		case 4:
			_ = d.cm.Resolve(id, port)
		case 5:
			_ = d.cm.Route(id)
		case 6:
			if d.newQP(id) == nil {
				_ = d.cm.Connect(id, guest.Param{QPN: d.qp.Num})
			}
		case 7:
			if d.newQP(id) == nil {
				_ = d.cm.Accept(id, uint64(id)+10, guest.Param{QPN: d.qp.Num})
			}
		case 8:
			_ = d.cm.Disconnect(id)
		case 9:
			_ = d.cm.Reject(id, "")
		default:
			_, _ = d.cm.Event()
		}
	}
	if err := d.cm.Close(); err != nil {
		return err
	}
	return refusalProgram(nil)
}

func TestCMAbuse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, face := range []string{supervise, superviseIWARP} {
		c := under(performance(t, "abuse-cm", fmt.Sprint(seed))...)
		c.Args[0] = face
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
}

// killedProgram connects, says so, and waits until it is killed.
func killedProgram(args []string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	port, err := awaitPort(args[0])
	if err != nil {
		return err
	}
	id, err := d.routed(1, port)
	if err != nil {
		return err
	}
	if err := d.newQP(id); err != nil {
		return err
	}
	if err := d.cm.Connect(id, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	if _, err := d.established(id, 1); err != nil {
		return err
	}
	return unix.Kill(unix.Getpid(), unix.SIGKILL)
}

// bereavedProgram is the peer of a program that is killed.
func bereavedProgram(args []string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	_, port, err := d.listen(1, 0)
	if err != nil {
		return err
	}
	if err := os.WriteFile(args[0], fmt.Appendf(nil, "%d", port), 0o600); err != nil {
		return err
	}
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil {
		return err
	}
	if err := d.newQP(e.ID); err != nil {
		return err
	}
	if err := d.cm.Accept(e.ID, 2, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	if _, err := d.cm.Want(2, guest.Established); err != nil {
		return err
	}
	_, err = d.cm.Want(2, guest.Disconnected)
	return err
}

// The peer of a killed program sees the end of the connection.
func TestConnectKilled(t *testing.T) {
	for _, face := range []string{supervise, superviseIWARP} {
		file := namedPipe(t)
		first, second := under(performance(t, "bereaved", file)...), under(performance(t, "killed", file)...)
		first.Args[0], second.Args[0] = face, face
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		if err := second.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: the program ends with %v", face, err)
		}
		if err := first.Wait(); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
}

// interruptProgram sends a signal to a thread that waits for an event.
func interruptProgram([]string) error {
	c, err := guest.OpenCM()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	thread := make(chan int)
	returned := make(chan error)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		_, err := c.Do(12, make([]byte, 8), 0, 336)
		returned <- err
	}()
	tid := <-thread
	for { // the first signals may come before the thread waits
		if err := unix.Tgkill(unix.Getpid(), tid, unix.SIGUSR1); err != nil {
			return err
		}
		<-signals
		select {
		case err := <-returned:
			if err != syscall.EINTR {
				return fmt.Errorf("GET_EVENT: %w, want EINTR", err)
			}
			return nil
		default:
		}
	}
}

// A signal interrupts a thread that waits for an event: its handler runs, and the call returns.
func TestEventInterrupted(t *testing.T) {
	if err := under(performance(t, "interrupt")...).Run(); err != nil {
		t.Error(err)
	}
}

// strangerProgram destroys an id whose peer stays silent after the Reply, and gives the queue pair
// to another id.
func strangerProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	_, port, err := d.listen(1, 0)
	if err != nil {
		return err
	}
	dialed := make(chan *extsock.Conn, 1)
	go func() {
		dialer := extsock.Dialer{Config: &extsock.Config{PrivateData: []byte("rddp CM1\x00\x00\x00\x01")}}
		c, _ := dialer.DialDDP(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", cm.Places(port)[0]))
		dialed <- c
	}()
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil {
		return err
	}
	if err := errors.Join(d.newQP(e.ID), d.cm.Accept(e.ID, 2, guest.Param{QPN: d.qp.Num})); err != nil {
		return err
	}
	stranger := <-dialed
	if stranger == nil {
		return errors.New("no Reply")
	}
	defer stranger.Close()
	if _, err := d.cm.DestroyID(e.ID); err != nil {
		return err
	}
	client := *d
	if client.cm, err = guest.OpenCM(); err != nil {
		return err
	}
	id, err := client.routed(3, port)
	if err != nil {
		return err
	}
	if err := errors.Join(client.newQP(id), client.cm.Connect(id, guest.Param{QPN: client.qp.Num})); err != nil {
		return err
	}
	if e, err = d.cm.Want(1, guest.ConnectRequest); err != nil {
		return err
	}
	if err := d.cm.Accept(e.ID, 4, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	if _, err := client.established(id, 3); err != nil {
		return err
	}
	if _, err := d.cm.Want(4, guest.Established); err != nil {
		return err
	}
	if _, err := stranger.Write(make([]byte, 64)); err != nil { // not a frame that a device sends
		return err
	}
	_, _ = io.Copy(io.Discard, stranger) // until the connection ends
	for range 100 {
		d.qp.PostRecv(10, d.mr.Part(0, 8))
		send := guest.WR{ID: 20, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{d.mr.Part(8, 8)}}
		if err := client.qp.Post(send); err != nil {
			return err
		}
		if a, b := next(d.cq), next(d.cq); a.Status != 0 || b.Status != 0 {
			return fmt.Errorf("completions %+v and %+v", a, b)
		}
	}
	return nil
}

// The late end of a destroyed id's connection does not end the new connection of its queue pair.
func TestQueuePairOfAnotherID(t *testing.T) {
	if err := under(performance(t, "stranger")...).Run(); err != nil {
		t.Error(err)
	}
}

// leakCMProgram opens and closes many channels, with listeners and ids.
func leakCMProgram([]string) error {
	parent := supervisorPID()
	count := func() int {
		all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", parent))
		return len(all)
	}
	before := count()
	for range 200 {
		c, err := guest.OpenCM()
		if err != nil {
			return err
		}
		id, err := c.ID(1, guest.TCPSpace)
		if err != nil {
			return err
		}
		if err := errors.Join(c.Bind(id, 0), c.Listen(id, 0)); err != nil {
			return err
		}
		if id, err = c.ID(2, guest.TCPSpace); err != nil {
			return err
		}
		if err := c.Resolve(id, 9); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	for count() > before+3 { // the supervisor notices each end a moment later
		runtime.Gosched()
	}
	return nil
}

// rebindProgram listens at one port again and again, and closes the channel each time.
func rebindProgram([]string) error {
	var port uint16
	for i := range 200 {
		c, err := guest.OpenCM()
		if err != nil {
			return err
		}
		id, err := c.ID(1, guest.TCPSpace)
		if err != nil {
			return err
		}
		if err := errors.Join(c.Bind(id, port), c.Listen(id, 0)); err != nil {
			return fmt.Errorf("channel %d: %w", i, err)
		}
		if port, _, _, err = c.Ports(id); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// The port of a channel that is closed, as by the end of its program, is free at once.
func TestRebind(t *testing.T) {
	var out bytes.Buffer
	c := under(performance(t, "rebind")...)
	c.Stderr = &out
	if err := c.Run(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// A channel that the program closes leaves nothing behind.
func TestCMLeak(t *testing.T) {
	if err := under(performance(t, "leak-cm")...).Run(); err != nil {
		t.Error(err)
	}
}

// immediateProgram connects to itself and posts operations that plain iWARP does not have.
func immediateProgram([]string) error {
	for _, op := range []uint32{guest.OpSendImm, guest.OpWriteImm, guest.OpFetchAdd} {
		d, err := newDialog()
		if err != nil {
			return err
		}
		_, port, err := d.listen(1, 0)
		if err != nil {
			return err
		}
		id, err := d.routed(2, port)
		if err != nil {
			return err
		}
		if err := d.newQP(id); err != nil {
			return err
		}
		q := d.qp
		if err := d.cm.Connect(id, guest.Param{QPN: q.Num}); err != nil {
			return err
		}
		e, err := d.cm.Want(1, guest.ConnectRequest)
		if err != nil {
			return err
		}
		if err := d.newQP(e.ID); err != nil {
			return err
		}
		if err := d.cm.Accept(e.ID, 3, guest.Param{QPN: d.qp.Num}); err != nil {
			return err
		}
		for range 2 { // of the two ends, in either order
			if e, err := d.cm.Event(); err != nil || e.Type != guest.Established {
				return fmt.Errorf("%+v, %w", e, err)
			}
		}
		w := guest.WR{ID: 5, Op: op, Flags: guest.Signaled, Remote: d.mr.Addr, Key: d.mr.Key, List: []guest.SGE{d.mr.Part(0, 8)}}
		if err := q.Post(w); err != nil {
			return err
		}
		const localQPOperation = 2
		if w := next(d.cq); w.ID != 5 || w.Status != localQPOperation {
			return fmt.Errorf("operation %d: completion %+v", op, w)
		}
		for range 2 {
			if e, err := d.cm.Event(); err != nil || e.Type != guest.Disconnected {
				return fmt.Errorf("after operation %d: %+v, %w", op, e, err)
			}
		}
	}
	return nil
}

// Plain iWARP has neither immediate data nor atomics.
func TestNotOverIWARP(t *testing.T) {
	c := under(performance(t, "immediate")...)
	c.Args[0] = superviseIWARP
	if err := c.Run(); err != nil {
		t.Error(err)
	}
}
