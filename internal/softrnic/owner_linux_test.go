//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"net"
	"testing"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// An endedOwner is a Pair whose queue pair is reset as soon as it expects a connection.
type endedOwner struct {
	*Pair
	reset func() error
	err   error
	early bool // it is asked before MPA startup
	asked bool
}

func (o *endedOwner) Expect(c *conn.Conn) bool {
	o.asked, o.early = true, c.Peer() == nil
	ok := o.Pair.Expect(c)
	o.err = o.reset()
	return ok
}

// TestEndDuringConnect: a queue pair ends while it connects. The peer, which may write from MPA
// startup on, writes nothing.
func TestEndDuringConnect(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	o := &endedOwner{Pair: a.pairOf(t, qa), reset: func() error { return qa.Modify(guest.Reset, a.gid, 0, nil) }}
	before := bytes.Clone(a.read(0, 8))
	var c *conn.Conn
	b.acceptPlain(t, qb, func() {}, func(address string) (err error) {
		c, err = a.dev.Dial(prototest.TimeLimit(t), net.Dialer{}, address, o.Config(Plain, 1, 1), nil, o)
		return err
	})
	if !o.asked || !o.early || o.err != nil {
		t.Fatalf("the owner is asked: %v, before MPA startup: %v, %v", o.asked, o.early, o.err)
	}
	nudgeNow(c) // before that a responder says nothing
	b.fill(0, 8, 1)
	w := guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: a.mr.Addr, Key: a.mr.Key, List: []guest.SGE{b.mr.Part(0, 8)}}
	if err := qb.Post(w); err != nil {
		t.Fatal(err)
	}
	b.poll(1)
	if err := o.Start(c, Plain, true, 0, nil, nil); err == nil {
		t.Error("a connection of a queue pair that has been reset")
	}
	if got := a.read(0, 8); !bytes.Equal(got, before) {
		t.Errorf("the peer has written %x", got)
	}
}
