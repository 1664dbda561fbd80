package pipeline_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/conformance/lab/pipeline"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// Over an engine an RDMA Read takes the time that the engine's model computes for two messages: the
// FPDU of the Read Request, and that of the Read Response. The goroutines take no time in a bubble.
func TestReadOverAPipeline(t *testing.T) {
	const (
		n        = 1000
		request  = 2 + 18 + 28 + 4 // MPA's length, untagged header, RDMAP's header, CRC
		response = 2 + 14 + n + 4  // MPA's length, tagged header, payload, CRC
	)
	for _, p := range pipeline.Presets() {
		for _, pipelining := range []pipeline.Pipelining{pipeline.Coarse, pipeline.Fine} {
			t.Run(p.Name+"/"+pipelining.String(), func(t *testing.T) {
				m, err := pipeline.NewModel(p, pipelining)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					wire := simtoe.Config{Timing: func() simtoe.Timing {
						l, err := pipeline.NewLine(p, pipelining)
						if err != nil {
							t.Error(err)
						}
						return l
					}}
					a, b := simtoe.Pair(wire, wire)
					ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
					responder := make(chan error, 1)
					go func() { responder <- cr.EnableDDP(t.Context(), nil) }()
					if err := errors.Join(ci.EnableDDP(t.Context(), nil), <-responder); err != nil {
						t.Fatal(err)
					}
					defer time.Sleep(time.Second) // until the FINs have arrived: after the test no time passes
					defer ci.Close()
					defer cr.Close()
					r, err := cr.Register(make([]byte, n), ddp.RemoteRead)
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second) // until startup is over on the wire
					begin := time.Now()
					if got, err := ci.Remote(r.Handle()).ReadAt(make([]byte, n), 0); got != n || err != nil {
						t.Fatalf("ReadAt: %d, %v", got, err)
					}
					if got, want := time.Since(begin), m.Latency(request).Duration()+m.Latency(response).Duration(); got != want {
						t.Errorf("a Read takes %v, want %v", got, want)
					}
				})
			})
		}
	}
}
