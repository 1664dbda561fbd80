package verbs

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestAwaitBeforeTheEnd: the peer has ended a connection that was already established. The end that
// waits for it still gets it, with the data that the peer has sent.
func TestAwaitBeforeTheEnd(t *testing.T) {
	for range 64 { // a select chooses at random
		e := makeEnd(&Device{}, 1, 1, 4)
		e.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Established})
		e.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Disconnected})
		if _, err := e.await(t.Context(), ucma.Established); err != nil {
			t.Fatalf("await = %v, although the connection was there", err)
		}
		if _, err := e.await(t.Context(), ucma.Established); !errors.Is(err, ErrDisconnected) {
			t.Fatalf("the next await = %v, want ErrDisconnected", err)
		}
	}
}

// TestAwaitAfterClose: events from before Close no longer count.
func TestAwaitAfterClose(t *testing.T) {
	e := makeEnd(&Device{}, 1, 1, 4)
	e.fail(os.ErrClosed)
	if _, err := e.await(t.Context(), ucma.ConnectRequest); !errors.Is(err, os.ErrClosed) {
		t.Errorf("await = %v, want os.ErrClosed", err)
	}
}

// TestRejection: the private data of a rejection by the peer's program are in the error, which
// differs from the error of a peer without a program.
func TestRejection(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		event  ucma.EventType
		status int32
		says   string
		want   bool
	}{
		{"by siw's peer", ucma.Rejected, -int32(syscall.ECONNRESET), "no", true},
		{"by a program on rxe that says nothing", ucma.Rejected, 28, "", true},
		{"nobody listens, on siw", ucma.Rejected, -int32(syscall.ECONNREFUSED), "", false},
		{"nobody listens, on rxe", ucma.Rejected, 8, "\x00\x00", false},
		{"no way", ucma.Unreachable, -int32(syscall.ETIMEDOUT), "", false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			err := refused(ucma.Event{Type: tt.event, Status: tt.status, Param: ucma.ConnParam{PrivateData: []byte(tt.says)}})
			var c *ConnectError
			if !errors.As(err, &c) || string(c.PrivateData) != tt.says || c.isProgram() != tt.want {
				t.Errorf("%+v, by a program: %v, want %v", c, c.isProgram(), tt.want)
			}
		})
	}
}

// TestPeerLeaves: the errors of rdma_cm about a peer that has left concern only that peer, and the
// Listener continues. Errors of the device end it.
func TestPeerLeaves(t *testing.T) {
	for _, tt := range []struct {
		desc string
		err  error
		want bool
	}{
		{"before ESTABLISHED", ErrDisconnected, true},
		{"before ACCEPT, with siw", failed("ACCEPT", syscall.ECONNRESET), true},
		{"before ACCEPT, with rxe", failed("ACCEPT", syscall.EINVAL), true},
		{"before INIT_QP_ATTR", failed("INIT_QP_ATTR", syscall.EINVAL), true},
		{"a device that does not accept", failed("ACCEPT", syscall.EIO), false},
		{"a device without queue pairs", failed("CREATE_QP", syscall.EINVAL), false},
		{"no memory", failed("ACCEPT", syscall.ENOMEM), false},
		{"the Listener is closed", os.ErrClosed, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			err := left(tt.err)
			if got := (listener{}).IsPeer(err); got != tt.want || got != errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("left(%v) = %v, which is the peer's: %v", tt.err, err, got)
			}
		})
	}
}

// TestQueueFailsAtAccept: a peer that breaks the rules as soon as there is a connection loses its
// own connection, and the Listener continues. The events of the connection and of its queue come
// from two files, in any order.
func TestQueueFailsAtAccept(t *testing.T) {
	for _, kind := range []uverbs.EventType{uverbs.EventCQError, uverbs.EventQPFatal, uverbs.EventQPRequest, uverbs.EventQPAccess} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		d := &Device{ends: map[uint64]*end{}, async: r}
		e := makeEnd(d, 1, 1, 4)
		if err := d.add(e); err != nil {
			t.Fatal(err)
		}
		d.watch.Add(1)
		go d.readAsync()
		if _, err := w.Write(uverbs.AppendAsyncEvent(nil, e.uid, kind)); err != nil {
			t.Fatal(err)
		}
		<-e.over
		e.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Established})
		_, err = e.await(t.Context(), ucma.Established)
		if err = left(err); !(listener{}).IsPeer(err) || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("event %d: Accept = %v, want an error of the peer", kind, err)
		}
		if d.hasFailed() {
			t.Errorf("event %d of a queue ends the device", kind)
		}
		w.Close()
		d.watch.Wait()
		r.Close()
	}
}

// TestEndByQueue: if the peer has gone, or has made a forbidden request, the connection ends in the
// same way whether the event of the queue pair or that of the connection comes first. The failure
// of a completion queue is a failure of the device.
func TestEndByQueue(t *testing.T) {
	for kind, byPeer := range map[uverbs.EventType]bool{
		uverbs.EventQPRequest: true, uverbs.EventQPAccess: true, uverbs.EventQPFatal: true, uverbs.EventCQError: false,
	} {
		for _, disconnectedFirst := range []bool{true, false} {
			d := &Device{ends: map[uint64]*end{}}
			e := makeEnd(d, 1, 1, 4)
			if err := d.add(e); err != nil {
				t.Fatal(err)
			}
			if disconnectedFirst {
				e.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Disconnected})
			}
			d.takeAsync(e.uid, kind)
			e.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Disconnected})
			var failed *DeviceError
			if err := e.cause(); errors.Is(err, ErrDisconnected) != (byPeer || disconnectedFirst) || errors.As(err, &failed) == errors.Is(err, ErrDisconnected) {
				t.Errorf("event %d, disconnected first: %v: the cause is %v", kind, disconnectedFirst, err)
			}
		}
	}
}

// TestPatience: the caller may choose any deadline of the context.
func TestPatience(t *testing.T) {
	for _, d := range []time.Duration{time.Second, time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		want, _ := ctx.Deadline()
		bounded, cancelBound := patient(ctx)
		if got, ok := bounded.Deadline(); !ok || !got.Equal(want) {
			t.Errorf("the deadline is %v, want %v", got, want)
		}
		cancelBound()
		cancel()
	}
	bounded, cancel := patient(t.Context())
	defer cancel()
	if _, ok := bounded.Deadline(); !ok {
		t.Error("a context without a deadline waits for good")
	}
}

// TestZone: commands have no zone, so TCP in the process makes a connection to such an address.
func TestZone(t *testing.T) {
	d := &Device{ends: map[uint64]*end{}, closed: true}
	addr := netip.MustParseAddrPort("[fe80::1%lo]:7")
	var u *UnavailableError
	if _, err := d.Dial(t.Context(), addr, Config{}); !errors.As(err, &u) || u.Reason != NotSupported {
		t.Errorf("Dial = %v, want NotSupported", err)
	}
	if _, err := d.Listen(addr); !errors.As(err, &u) || u.Reason != NotSupported {
		t.Errorf("Listen = %v, want NotSupported", err)
	}
}

// TestDeviceRemoved: rdma_cm tells each connection that its device has gone. Then everything on the
// Device ends, and a Backend closes it; the system waits for that. An end that does not know yet
// whether it is on this device ends alone.
func TestDeviceRemoved(t *testing.T) {
	for _, known := range []bool{true, false} {
		b := &Backend{Name: "none of this name", dev: &Device{ends: map[uint64]*end{}}}
		d := b.dev
		var ends [2]*end
		for i := range ends {
			ends[i] = makeEnd(d, uint64(i), uint32(i), 4)
			if err := d.add(ends[i]); err != nil {
				t.Fatal(err)
			}
		}
		ends[0].isOnDevice = known
		if !ends[0].take(ucma.Event{Type: ucma.DeviceRemoval}) {
			t.Fatal("nobody takes the event")
		}
		var gone *DeviceError
		for i, e := range ends {
			if err := e.cause(); errors.As(err, &gone) != (known || i == 0) {
				t.Errorf("its device known: %v: the cause of end %d is %v", known, i, err)
			}
		}
		dev, err := b.Device()
		if u := (*UnavailableError)(nil); errors.As(err, &u) != known || d.closed != known {
			t.Errorf("its device known: %v: Device = %v, %v, and the old one is closed: %v", known, dev, err, d.closed)
		}
	}
}
