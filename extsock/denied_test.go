package extsock_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestDenied: a peer cannot do on one connection what the memory allows on all connections of the
// Domain. What is not denied goes on.
func TestDenied(t *testing.T) {
	tests := []struct {
		desc   string
		denied ddp.Access
		do     func(m *extsock.RemoteMemory) error
	}{
		{"Write", ddp.RemoteWrite, func(m *extsock.RemoteMemory) error { _, err := m.WriteAt([]byte{1}, 0); return err }},
		{"Read", ddp.RemoteRead, func(m *extsock.RemoteMemory) error { _, err := m.ReadAt(make([]byte, 1), 0); return err }},
		{"FetchAdd", ddp.RemoteAtomic, func(m *extsock.RemoteMemory) error { _, err := m.FetchAdd(context.Background(), 0, 1); return err }},
	}
	for k, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				domain := new(ddp.Domain)
				memory := make([]byte, 64)
				r, err := domain.Register(memory, ^ddp.Access(0), 0) // with bits that are no right
				if err != nil {
					t.Fatal(err)
				}
				handle := rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())}
				ci, cr := simPair(t, simtoe.Config{}, side{}, side{cfg: extsock.Config{Domain: domain, Denied: tt.denied}})
				m := ci.Remote(handle)
				for other := range tests {
					if other != k {
						if err := tests[other].do(m); err != nil {
							t.Errorf("%s, which is not denied: %v", tests[other].desc, err)
						}
					}
				}
				before := bytes.Clone(memory)
				if err := tt.do(m); err == nil && tt.denied != ddp.RemoteWrite {
					t.Error("what is denied succeeds")
				}
				if _, err := cr.Read(make([]byte, 1)); !refusedAs(err, errDenied) {
					t.Errorf("this end ends with %v, want %v", err, errDenied)
				}
				if !bytes.Equal(memory, before) {
					t.Error("the memory has changed")
				}
			})
		})
	}
}
