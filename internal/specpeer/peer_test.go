package specpeer

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/spec"
)

// caseTimeout is generous: a machine may be busy, and only a case that fails takes it.
const caseTimeout = 20 * time.Second

// overTCP asks p all questions over loopback, in one part, and returns the report.
func overTCP(t *testing.T, p *Peer, part spec.Part, sections ...string) *spec.Report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cfg := spec.Config{Part: part, Timeout: caseTimeout, Quiet: 50 * time.Millisecond, Sections: sections, Done: show(t)}
	if part == spec.Responder {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", p.Config())
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- p.Serve(ctx, l) }()
		cfg.Open = func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}
	} else {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() { ended <- p.Dial(ctx, l.Addr().String()) }()
		cfg.Open = func(ctx context.Context) (net.Conn, error) {
			end, _ := ctx.Deadline()
			_ = l.(*net.TCPListener).SetDeadline(end)
			return l.Accept()
		}
	}
	report, err := spec.Run(ctx, cfg)
	cancel()
	if e := <-ended; e != nil {
		t.Errorf("the peer ended with %v", e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// show logs what has not passed.
func show(t *testing.T) func(spec.Result) {
	return func(r spec.Result) {
		if r.Status != spec.StatusPass {
			var b bytes.Buffer
			spec.NewPrinter(&b).Print(r)
			t.Logf("%s", b.String())
		}
	}
}

func TestOverTCP(t *testing.T) {
	for _, part := range []spec.Part{spec.Responder, spec.Initiator} {
		t.Run(part.String(), func(t *testing.T) {
			r := overTCP(t, &Peer{}, part)
			t.Log(r.Summary())
			if r.Failed() {
				t.Errorf("%d failures", r.Count(spec.StatusFail))
			}
		})
	}
}
