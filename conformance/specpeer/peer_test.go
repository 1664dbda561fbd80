package specpeer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/conformance/spec"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// caseTimeout is generous: a machine may be busy, and only a case that fails takes it.
const caseTimeout = 20 * time.Second

// A network is where a run takes place.
type network struct {
	backend toe.Backend // nil: loopback
	address string
}

func (n network) listen(ctx context.Context) (toe.Listener, error) {
	return n.backend.Listen(ctx, "tcp", n.address)
}

// run asks p all questions, or those of the sections, and returns the report. In the Responder's
// part p listens.
func (n network) run(t *testing.T, p *Peer, part spec.Part, sections ...string) *spec.Report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Socket.Backend = n.backend
	ended := make(chan error, 1)
	cfg := spec.Config{Part: part, Sections: sections, Timeout: caseTimeout, Quiet: 50 * time.Millisecond, Done: show(t)}
	if part == spec.Responder {
		l, err := extsock.Listen("tcp", n.address, p.Config())
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- p.Serve(ctx, l) }()
		cfg.Open = n.dial(l.Addr().String())
	} else {
		accept, address, closeListener := n.accept(t)
		defer closeListener()
		go func() { ended <- p.Dial(ctx, address) }()
		cfg.Open = accept
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

func (n network) dial(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if n.backend != nil {
			return n.backend.Dial(ctx, "tcp", address)
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
}

func (n network) accept(t *testing.T) (open func(context.Context) (net.Conn, error), address string, closeListener func() error) {
	t.Helper()
	if n.backend != nil {
		l, err := n.listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return func(context.Context) (net.Conn, error) { return l.Accept() }, l.Addr().String(), l.Close
	}
	l, err := net.Listen("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) (net.Conn, error) {
		end, _ := ctx.Deadline()
		_ = l.(*net.TCPListener).SetDeadline(end)
		return l.Accept()
	}, l.Addr().String(), l.Close
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

const allRTR = mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead

// What can't be asked of a peer that doesn't want Markers, has no enhanced startup, or no
// extensions.
var (
	ofMarkers = []string{
		"5044/4.2/low-bits-ignored", "5044/4.2/reserved-ignored", "5044/4.3/received", "5044/8/wrong-marker",
	}
	ofEnhancedResponders = []string{
		"6581/10/enhanced", "6581/10/revision-2-plain", "6581/6/private-data-512", "6581/6/reserved-bits",
		"6581/9.1/ird-0-ord-0", "6581/9.1/ird-1-ord-1", "6581/9.1/ird-16-ord-2", "6581/9.1/ird-16382-ord-16382",
		"6581/9.1/ird-2-ord-16", "6581/9.1/ird-left-to-ulp", "6581/9.1/ord-left-to-ulp", "6581/9.2/client-server",
		"6581/9.2/no-kind-asked-for", "6581/9.2/peer-to-peer", "6581/9.2/rtr-read", "6581/9.2/rtr-send",
		"6581/9.2/rtr-write", "5040/6.1/reads-beyond-ird",
	}
	ofEnhancedInitiators = []string{
		"6581/6/request-format", "6581/9.1/reply-depths-zero", "6581/9.1/reply-left-to-ulp",
		"6581/9.1/reply-ord-too-big", "6581/9.2/no-matching-rtr", "6581/9.2/reply-flags-without-a",
		"6581/9.2/sends-rtr-read", "6581/9.2/sends-rtr-send", "6581/9.2/sends-rtr-write", "5040/6.1/reads-beyond-ird",
	}
	ofExtensions = []string{
		"7306/5.1.1/fetch-add", "7306/5.1.1/fetch-add-fields", "7306/5.1.1/fetch-add-nothing",
		"7306/5.1.2/cmp-swap-masks", "7306/5.1.2/cmp-swap-match", "7306/5.1.2/cmp-swap-mismatch",
		"7306/5.2.1/ignored-fields", "7306/5.2.1/reserved-operation", "7306/5.4/in-order", "7306/6.2/immediate",
		"7306/6.2/immediate-with-se", "7306/6.3/among-sends", "7306/6.3/behind-write", "7306/6.3/nine-octets",
		"7306/6.3/seven-octets", "7306/8.2/beyond-end", "7306/8.2/invalid-stag", "7306/8.2/misaligned",
		"7306/8.2/no-right",
	}
)

// ofStartup takes the time-out of a startup to ask: the simulator has time for it. Over loopback
// the peers get one that a busy machine can't reach, which is too long to be asked for.
var ofStartup = map[spec.Part][]string{
	spec.Responder: {"5044/7.1.2/no-request", "5044/7.1.2/request-too-slow"},
	spec.Initiator: {"5044/7.1.2/no-reply", "5044/7.1.2/reply-too-slow"},
}

// peers are rddp's own, as different as startup can make them. Where something depends on what the
// peer wants, one of them wants it, and skipped has the cases that the others cannot be asked.
var peers = []struct {
	desc    string
	peer    Peer
	skipped map[spec.Part][]string
}{
	{"as it comes", Peer{}, map[spec.Part][]string{
		spec.Responder: {
			"5044/4.2/low-bits-ignored", "5044/4.2/reserved-ignored", "5044/4.3/received", "5044/7.1.1/crc-off", "5044/8/wrong-marker",
			"6581/9.2/rtr-send", "7306/4.1/atomics-not-offered", "7306/4.1/immediate-not-offered",
		},
		spec.Initiator: {
			"5044/4.2/low-bits-ignored", "5044/4.2/reserved-ignored", "5044/4.3/received", "5044/7.1.1/reply-crc-off", "5044/8/wrong-marker",
			"6581/9.2/no-matching-rtr", "6581/9.2/sends-rtr-read", "6581/9.2/sends-rtr-send", "6581/9.2/sends-rtr-write",
			"7306/4.1/atomics-not-offered", "7306/4.1/immediate-not-offered",
		},
	}},
	{"markers, no CRC, all RTRs", Peer{Socket: extsock.Config{Markers: true, NoCRC: true, PeerToPeer: true, RTR: allRTR}}, map[spec.Part][]string{
		spec.Responder: {"7306/4.1/atomics-not-offered", "7306/4.1/immediate-not-offered"},
		spec.Initiator: {"6581/9.2/reply-flags-without-a", "7306/4.1/atomics-not-offered", "7306/4.1/immediate-not-offered"},
	}},
	{"revision 1, no extensions", Peer{NoExtensions: true, Socket: extsock.Config{Revision: 1}}, map[spec.Part][]string{
		spec.Responder: slices.Concat(ofMarkers, []string{"5044/7.1.1/crc-off"}, ofEnhancedResponders, ofExtensions),
		spec.Initiator: slices.Concat(ofMarkers, []string{"5044/7.1.1/reply-crc-off"}, ofEnhancedInitiators, ofExtensions),
	}},
}

// Every question is asked in each part, and no answer is wrong. That no case is lost is seen by
// their number.
func TestOwnPeer(t *testing.T) {
	total := map[spec.Part]int{spec.Responder: 186, spec.Initiator: 171}
	for _, tt := range peers {
		for _, part := range []spec.Part{spec.Responder, spec.Initiator} {
			check := func(t *testing.T, n network, startup time.Duration, more ...string) {
				peer := tt.peer
				peer.Socket.HandshakeTimeout = startup
				r := n.run(t, &peer, part)
				if len(r.Results) != total[part] || r.Failed() || r.Count(spec.StatusKnown) != 0 {
					t.Errorf("%s; want %d cases and no failure", r.Summary(), total[part])
				}
				wantSkipped(t, r, append(more, tt.skipped[part]...))
			}
			t.Run(fmt.Sprintf("%s, %v, loopback", tt.desc, part), func(t *testing.T) {
				check(t, network{nil, "127.0.0.1:0"}, caseTimeout, ofStartup[part]...)
			})
			t.Run(fmt.Sprintf("%s, %v, simulated", tt.desc, part), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					// The simulator has no reset.
					check(t, network{simtoe.New(simtoe.Config{Seed: 1}), "peer:1"}, 0)
				})
			})
		}
	}
}

func wantSkipped(t *testing.T, r *spec.Report, want []string) {
	t.Helper()
	var got []string
	for _, c := range r.Results {
		if c.Status == spec.StatusSkip {
			got = append(got, c.ID)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("skipped:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The peer does not make anybody wait for having used a wrong STag: a run asks for many.
func TestNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := network{simtoe.New(simtoe.Config{Seed: 1}), "peer:1"}.run(t, &Peer{}, spec.Responder, "5041/7.2", "7306/8.2")
		if took := time.Since(begin); took >= time.Second || r.Count(spec.StatusPass) != 12 {
			t.Errorf("%s in %v, want 12 pass in less than a second", r.Summary(), took)
		}
	})
}

// A peer that nobody listens for gives up.
func TestDialRefused(t *testing.T) {
	if err := (&Peer{Patience: time.Millisecond}).Dial(t.Context(), prototest.ClosedPort(t)); err == nil {
		t.Error("Dial returned nil without a connection")
	}
}
