package extsock_test

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/internal/device/devicetest"
)

// TestZeroValues: what a program has after an error that it did not look at returns a typed error, does nothing, or
// panics as its comment says.
func TestZeroValues(t *testing.T) {
	var access *ddp.AccessError
	if w, err := (extsock.Region{}).Window(0, 1, ddp.RemoteRead); !errors.As(err, &access) || w != (extsock.Region{}) {
		t.Errorf("a window of the zero Region: %v, %v", w, err)
	}
	(extsock.Region{}).Deregister()
	for name, f := range map[string]func(){
		"Region.Handle":                func() { (extsock.Region{}).Handle() },
		"Conn.Read":                    func() { new(extsock.Conn).Read(make([]byte, 1)) },
		"Listener.Accept":              func() { new(extsock.Listener).Accept() },
		"CompletionQueue.Poll":         func() { new(extsock.CompletionQueue).Poll(nil) },
		"RemoteMemory.Write":           func() { new(extsock.RemoteMemory).WriteAt(make([]byte, 1), 0) },
		"RemoteMemory.Read of nothing": func() { new(extsock.RemoteMemory).ReadAt(nil, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of the zero value does not panic, and its comment says so", name)
				}
			}()
			f()
		}()
	}
}

// TestZeroMemory: the zero Memory is closed, and shared with nobody.
func TestZeroMemory(t *testing.T) {
	m := new(extsock.Memory)
	if len(m.Bytes()) != 0 {
		t.Errorf("%d bytes", len(m.Bytes()))
	}
	if err := m.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, _ := devicePair(t, b)
		if r, err := m.Share(client); !errors.Is(err, errors.ErrUnsupported) || r != (extsock.Region{}) {
			t.Errorf("Share on a device = %v, %v", r, err)
		}
	})
	c, _ := tcpPair(t, side{}, side{})
	if r, err := m.Share(c); err == nil || r != (extsock.Region{}) {
		t.Errorf("Share in process = %v, %v", r, err)
	}
}
