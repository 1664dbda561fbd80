package verbs

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// TestDeviceClosedTwice: a second Close waits for the first.
func TestDeviceClosedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Device
		d.watch.Add(1) // a goroutine of the device is left
		closed := make(chan error, 2)
		for range 2 {
			go func() { closed <- d.Close() }()
		}
		synctest.Wait()
		if n := len(closed); n != 0 {
			t.Errorf("%d of two Closes have returned, and the device is still there", n)
		}
		d.watch.Done()
		if err := errors.Join(<-closed, <-closed, d.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestDialOnClosingDevice: a command that fails because Device.Close has destroyed its id returns
// os.ErrClosed, not the error for a missing device.
func TestDialOnClosingDevice(t *testing.T) {
	cm, err := os.CreateTemp(t.TempDir(), "no device") // DESTROY_ID goes there
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{ends: map[uint64]*end{}, cm: cm}
	e := makeEnd(d, 1, 1, 4)
	if err := d.add(e); err != nil {
		t.Fatal(err)
	}
	gone := failed("RESOLVE_ADDR", syscall.ENOENT)
	if err := e.orClosed(gone); err != gone { //nolint:errorlint // it is the same
		t.Errorf("on an open device: %v, want %v", err, gone)
	}
	d.Close()
	if err := e.orClosed(gone); !errors.Is(err, os.ErrClosed) {
		t.Errorf("on a closed device: %v, want os.ErrClosed", err)
	}
}
