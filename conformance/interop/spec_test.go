//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/conformance/spec"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

const (
	specPort    = 7400
	specTimeout = 6 * time.Second // of a case; siw closes a stalled startup after 5 s
)

// rddp spec asks siw all cases, in both parts. siw fails only as its profile says.
func TestSpecSiw(t *testing.T) {
	for _, part := range testmode.Share(t, []spec.Part{spec.Responder, spec.Initiator}) {
		t.Run(part.String(), func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, "fix_split_trailer=1") // otherwise the NAT decides where this fault appears
			cfg := spec.Config{Part: part, Profile: spec.Profiles()["siw"], Timeout: specTimeout, Done: logResult(t)}
			var p *Peer
			if part == spec.Responder {
				p = g.Peer(t)
				p.Send("spec port=%d", specPort)
				g.AwaitListener(t, specPort)
				address := g.Forward(t, specPort)
				cfg.Open = func(ctx context.Context) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", address)
				}
			} else {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				p = g.Peer(t)
				p.Send("spec addr=%s port=%d", HostIP, l.Addr().(*net.TCPAddr).Port)
				cfg.Open = func(ctx context.Context) (net.Conn, error) {
					end, _ := ctx.Deadline()
					_ = l.(*net.TCPListener).SetDeadline(end)
					return l.Accept()
				}
			}
			report, err := spec.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report.Summary())
			if want := len(spec.Select(part, nil)); len(report.Results) != want || report.Failed() {
				t.Errorf("%s; want %d cases and no failure", report.Summary(), want)
			}
			select {
			case <-p.process.Done():
				code, err := p.process.Wait()
				t.Errorf("siwpeer has ended: %d, %v", code, err)
			default:
			}
			if err := g.Crash(); err != nil {
				t.Error(err)
			}
		})
	}
}

// logResult reports failures. With -v it also logs other cases that have not passed, and slow
// cases. For known deviations it includes the answer.
func logResult(t *testing.T) func(spec.Result) {
	return func(r spec.Result) {
		slow := r.Elapsed > specTimeout/4
		if r.Status != spec.StatusFail && (!testing.Verbose() || r.Status == spec.StatusPass && r.Tries == 0 && !slow) {
			return
		}
		var b bytes.Buffer
		spec.NewPrinter(&b).Print(r)
		if r.Status == spec.StatusKnown {
			b.WriteString("           came: " + r.Got + "\n")
		}
		if slow {
			fmt.Fprintf(&b, "           took: %v of %v\n", r.Elapsed.Round(time.Millisecond), specTimeout)
		}
		if r.Status == spec.StatusFail {
			t.Errorf("%s\n%s", r.ID, b.String())
			return
		}
		t.Logf("%s\n%s", r.ID, b.String())
	}
}
