//go:build interop

package interop

import (
	"context"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A showsEarly is the operating system's TCP, but it declares that it may show bytes early.
type showsEarly struct {
	kernel.Backend
	dials int
}

type earlyStream struct{ toe.Stream }

func (b *showsEarly) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	b.dials++
	s, err := b.Backend.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return earlyStream{s}, nil
}

func (s earlyStream) Capabilities() toe.Capabilities {
	c := s.Stream.Capabilities()
	c.EarlyRuns = true
	return c
}

// TestRddpAsksForMarkers: siw rejects a Request for Markers, and Dial tries again without them.
func TestRddpAsksForMarkers(t *testing.T) {
	g := Start(t)
	siw := g.Peer(t)
	siw.Do("listen port=%d", LinkPort)
	siw.Send("request sq=16 rq=16")
	siw.Send("accept ird=4 ord=4")
	ctx, cancel := context.WithTimeout(t.Context(), LinkLimit)
	defer cancel()
	backend := &showsEarly{}
	d := extsock.Dialer{Config: &extsock.Config{Backend: backend, IRD: 4, ORD: 4}}
	c, err := d.DialDDP(ctx, "tcp", g.Forward(t, LinkPort))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.ConnectionState(); s.ReceivesMarkers || s.SendsMarkers {
		t.Errorf("the connection has Markers: %+v", s)
	}
	if backend.dials != 2 {
		t.Errorf("Dial has made %d connections, want one with a Request for Markers and one without", backend.dials)
	}
	siw.MustReply()
	siw.MustReply()
}
