//go:build amd64 || arm64

package device

import (
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/guest"
	"github.com/rddp/rddp/cmd/rddp/internal/run/uverbs"
	"github.com/rddp/rddp/internal/prototest"
)

// overTCP makes the devices of tests connect over TCP, as if they were on two hosts.
var overTCP bool

// isJoinedNear reports whether the connection of a queue pair goes through memory. It waits for the
// connection.
func isJoinedNear(t *testing.T, p *program, q *guest.QP) (is bool) {
	t.Helper()
	qp := p.dev.find(q.Num)
	prototest.Wait(t, "a connection", func() bool {
		qp.mu.Lock()
		defer qp.mu.Unlock()
		if qp.link == nil {
			return false
		}
		is = isNear(qp.link.conn)
		return true
	})
	return is
}

// TestOverTCP runs tests of queue pairs once more, over TCP.
func TestOverTCP(t *testing.T) {
	overTCP = true
	defer func() { overTCP = false }()
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"Write", TestWrite},
		{"Read", TestRead},
		{"Send", TestSend},
		{"InlineAndImmediate", TestInlineAndImmediate},
		{"Atomics", TestAtomics},
		{"ManyInOrder", TestManyInOrder},
		{"SendBeforeReceive", TestSendBeforeReceive},
		{"Errors", TestErrors},
		{"FlushAndRejoin", TestFlushAndRejoin},
		{"PeerGone", TestPeerGone},
		{"SharedReceiveQueue", TestSharedReceiveQueue},
		{"PingPong", TestPingPong},
		{"MemoryWindow", TestMemoryWindow},
	} {
		t.Run(test.name, test.run)
	}
}

// TestNear checks which connections go through memory.
func TestNear(t *testing.T) {
	for _, test := range []struct {
		desc string
		make func() (a, b *Device)
		want bool
	}{
		{"two devices of one host", func() (a, b *Device) { return newDevice(t), newDevice(t) }, true},
		{"one device", func() (a, b *Device) { a = newDevice(t); return a, a }, true},
		{"one end takes only TCP", func() (a, b *Device) {
			a = newDevice(t)
			overTCP = true
			defer func() { overTCP = false }()
			return a, newDevice(t)
		}, false},
		{"a network with faults", func() (a, b *Device) { return newDevice(t), newFaultyDevice(t, "delay=1ms") }, false},
		{"another fault", func() (a, b *Device) { return newDevice(t), newFaultyDevice(t, "register=ENOMEM@1000") }, true},
	} {
		for _, swapped := range []bool{false, true} { // the end with the lower number dials
			t.Run(test.desc, func(t *testing.T) {
				da, db := test.make()
				if swapped {
					da, db = db, da
				}
				a, b := newProgram(t, da), newProgram(t, db)
				qa, qb := a.qp(nil), b.qp(nil)
				joinPair(t, a, b, qa, qb)
				if err := qa.Post(guest.WR{Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
					t.Fatal(err)
				}
				a.want("Write", 0, uverbs.Success)
				for p, q := range map[*program]*guest.QP{a: qa, b: qb} {
					if got := isJoinedNear(t, p, q); got != test.want {
						t.Errorf("through memory: %v, want %v", got, test.want)
					}
				}
			})
		}
	}
}
