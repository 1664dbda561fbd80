package extsock_test

import (
	"context"
	"errors"
	"runtime/debug"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// faulty returns memory with the protection prot. A goroutine that has called debug.SetPanicOnFault
// panics if it uses the memory in another way.
func faulty(t *testing.T, prot int) []byte {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, 64<<10, prot, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(memory) })
	return memory
}

// TestPanicWhileARegionIsHeld: a panic while bytes are copied into or out of a Region, whose lock
// the connection then holds, ends the connection, and the Region with it. Neither Close nor
// Deregister waits for a copy that is over.
func TestPanicWhileARegionIsHeld(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		desc string
		prot int
		use  func(m *extsock.RemoteMemory) error
	}{
		{"RDMA Read", syscall.PROT_NONE, func(m *extsock.RemoteMemory) error {
			_, err := m.ReadAt(make([]byte, 64<<10), 0)
			return err
		}},
		{"RDMA Write", syscall.PROT_READ, func(m *extsock.RemoteMemory) error {
			if _, err := m.WriteAt(make([]byte, 64<<10), 0); err != nil {
				return err
			}
			_, err := m.ReadAt(make([]byte, 1), 0) // the answer shows that the Write has arrived
			return err
		}},
		{"atomic", syscall.PROT_READ, func(m *extsock.RemoteMemory) error {
			_, err := m.FetchAdd(context.Background(), 0, 1)
			return err
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if testmode.Race && tt.desc == "atomic" {
				t.Skip("the race detector's atomics do not survive a fault")
			}
			memory := faulty(t, tt.prot)
			synctest.Test(t, func(t *testing.T) {
				defer extsock.ResetPanics()
				c, peer := simPair(t, simtoe.Config{}, side{}, side{})
				r := register(t, c, memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
				read := make(chan error, 1)
				go func() { // receives for itself after some messages, and faults
					defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
					for p := make([]byte, 8); ; {
						if _, err := c.Read(p); err != nil {
							read <- err
							return
						}
						c.Write(p)
					}
				}()
				for p := make([]byte, 8); !extsock.Driving(c); synctest.Wait() {
					if _, err := peer.Write(p); err != nil {
						t.Fatal(err)
					}
					if _, err := peer.Read(p); err != nil {
						t.Fatal(err)
					}
				}
				peer.SetDeadline(time.Now().Add(time.Minute))
				if err := tt.use(peer.Remote(r.Handle())); err == nil {
					t.Error("the peer succeeds")
				}
				var e *extsock.PanicError
				if err := <-read; !errors.As(err, &e) {
					t.Errorf("Read = %v, want a PanicError", err)
				}
				if n := c.Stats().Panics; n != 1 {
					t.Errorf("%d panics are counted, want 1", n)
				}
				c.Close()
				peer.Close()
				settle()
				if n := extsock.MemoryTaken(); n != 0 {
					t.Errorf("%d octets are still taken", n)
				}
			})
		})
	}
}
