package extsock_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestInvalidatedMemory: a connection does not hold the memory of a Region that its peer has
// invalidated, and Close still ends the Regions that are left.
func TestInvalidatedMemory(t *testing.T) {
	for desc, responder := range map[string]side{
		"receives for Read":             inMessages,
		"receives that the program has": postRecvs(extsock.Config{}, 3, 10),
	} {
		t.Run(desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, inMessages, responder)
				registerNew := func() (extsock.Region, weak.Pointer[[4096]byte]) {
					b := new([4096]byte)
					return register(t, cr, b[:], ddp.RemoteWrite), weak.Make(b)
				}
				var memory [3]weak.Pointer[[4096]byte]
				for i := range memory {
					r, m := registerNew()
					do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Invalidate: r.Handle().STag})
					if desc != "receives for Read" {
						complete(t, cr.RecvCQ())
					} else if _, err := cr.Read(nil); err != nil {
						t.Fatal(err)
					}
					memory[i] = m
				}
				left, leftMemory := registerNew()
				synctest.Wait() // the home goroutine goes on after a Completion
				runtime.GC()
				for i, m := range memory {
					if m.Value() != nil {
						t.Errorf("the connection holds the memory of Region %d", i)
					}
				}
				if leftMemory.Value() == nil {
					t.Error("the memory of a Region is gone")
				}
				cr.Close()
				if _, err := left.Window(0, 1, 0); err == nil {
					t.Error("a Region has outlived its connection")
				}
			})
		})
	}
}
