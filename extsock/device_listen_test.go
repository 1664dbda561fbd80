package extsock_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/toe/rnic"
)

// A failingBackend is a Backend whose listeners' Accept returns an error from fail once.
type failingBackend struct {
	*devicetest.Backend
	fail chan error
}

func (b *failingBackend) Device() (rnic.Device, error) {
	d, err := b.Backend.Device()
	return failingDevice{d, b.fail}, err
}

type failingDevice struct {
	rnic.Device
	fail chan error
}

func (d failingDevice) Listen(ctx context.Context, network, address string) (rnic.QPListener, error) {
	l, err := d.Device.Listen(ctx, network, address)
	return failingListener{l, d.fail}, err
}

type failingListener struct {
	rnic.QPListener
	fail chan error
}

func (l failingListener) Accept(ctx context.Context, cfg rnic.QPConfig) (rnic.QP, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-l.fail:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	qp, err := l.QPListener.Accept(ctx, cfg)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return qp, err
}

// TestDeviceListenerFails: when a device fails one Accept, the listener accepts nothing more. The
// connections that have come before go to the program first, in their order, and then comes the
// error, each time.
func TestDeviceListenerFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &failingBackend{new(devicetest.Backend), make(chan error)}
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		const most = 20
		var dialed [most]*extsock.Conn
		for i := range dialed {
			if dialed[i], err = extsock.Dial("tcp", "here:1", &cfg); err != nil {
				t.Fatal(err)
			}
			defer dialed[i].Close()
			synctest.Wait()
		}
		broken := errors.New("broken")
		b.fail <- broken
		synctest.Wait()
		if c, err := extsock.Dial("tcp", "here:1", &cfg); err == nil {
			t.Error("a Dial succeeds after the listener has failed")
			c.Close()
		}
		for i := range dialed {
			c, err := l.AcceptDDP()
			if err != nil {
				t.Fatalf("connection %d of %d that had come before: %v", i, most, err)
			}
			if got, want := c.RemoteAddr().String(), dialed[i].LocalAddr().String(); got != want {
				t.Errorf("connection %d is that of %s, want %s", i, got, want)
			}
			c.Close()
		}
		for range 2 {
			if _, err := l.Accept(); !errors.Is(err, broken) {
				t.Errorf("Accept = %v, want the error of the device", err)
			}
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close = %v", err)
		}
	})
}

// TestDeviceListenerClosed: Close drops the connections that wait, and Accept returns net.ErrClosed
// then, whether its deadline has passed or not. Until then a deadline that has passed comes before
// what waits.
func TestDeviceListenerClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := new(devicetest.Backend)
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := extsock.Dial("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		l.SetDeadline(time.Unix(1, 0))
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept after its deadline = %v", err)
		}
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close = %v", err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("Read of a connection that nobody accepted = %d, %v", n, err)
		}
		c.Close()
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
