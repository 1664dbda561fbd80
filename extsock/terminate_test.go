package extsock_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTerminateAtClose: an end with rdmap.TerminateAtClose reads what has come before the peer's
// error, then the error, and still sends. The Terminate comes behind that.
func TestTerminateAtClose(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wr   rdmap.WorkRequest // what is wrong
	}{
		{"a Write", rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}},
		{"a Read", rdmap.WorkRequest{Op: rdmap.WorkRead, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true}},
					side{cfg: extsock.Config{Messages: true, Domain: new(ddp.Domain), Terminate: rdmap.TerminateAtClose}})
				if _, err := ci.Write([]byte("before")); err != nil {
					t.Fatal(err)
				}
				if _, err := ci.PostBatch([]rdmap.WorkRequest{tt.wr}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				b := make([]byte, 16)
				if n, err := cr.Read(b); err != nil || string(b[:n]) != "before" {
					t.Fatalf("Read: %q, %v", b[:n], err)
				}
				var te *rdmap.TerminateError
				if _, err := cr.Read(b); !errors.As(err, &te) || te.Remote {
					t.Fatalf("Read behind the error: %v", err)
				}
				if _, err := cr.Write([]byte("carried out")); err != nil {
					t.Fatalf("Write behind the error: %v", err)
				}
				if n, err := ci.Read(b); err != nil || string(b[:n]) != "carried out" {
					t.Fatalf("the peer's Read: %q, %v", b[:n], err)
				}
				if err := cr.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if _, err := ci.Read(b); !errors.As(err, &te) || !te.Remote {
					t.Errorf("the peer's last Read: %v", err)
				}
			})
		})
	}
	t.Run("the peer leaves", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true}},
				side{cfg: extsock.Config{Messages: true, Domain: new(ddp.Domain), Terminate: rdmap.TerminateAtClose}})
			if _, err := ci.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			_ = ci.Close()
			if err := cr.Wait(t.Context()); err != nil {
				t.Errorf("Wait: %v", err)
			}
			if _, err := cr.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("Read: %v", err)
			}
		})
	})
}
