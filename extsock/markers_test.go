package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestMarkersForEarlyPlacement: over a TCP that shows bytes early, both ends ask for Markers and
// send short FPDUs, unless the Config says otherwise.
func TestMarkersForEarlyPlacement(t *testing.T) {
	early := simtoe.Config{Seed: 1, Split: true, Early: 0.5}
	for name, tt := range map[string]struct {
		network simtoe.Config
		cfg     extsock.Config
		want    bool
	}{
		"early runs":       {network: early, want: true},
		"no early runs":    {},
		"NoEarlyPlacement": {network: early, cfg: extsock.Config{NoEarlyPlacement: true}},
		"NoCRC":            {network: early, cfg: extsock.Config{NoCRC: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := tt.cfg
				cfg.Backend, cfg.Startup = simtoe.New(tt.network), extsock.StartupRequire
				c := dialed(t, &cfg)
				bothWays(t, c[0], c[1], 1<<20, 1<<16)
				for n := range c {
					s := c[n].ConnectionState()
					if s.ReceivesMarkers != tt.want || s.SendsMarkers != tt.want {
						t.Errorf("end %d: receives Markers %t, sends Markers %t, want %t", n, s.ReceivesMarkers, s.SendsMarkers, tt.want)
					}
					got := c[n].Stats()
					if short := got.Received.Octets/got.Received.FPDUs < 1500; short != tt.want {
						t.Errorf("end %d: %d FPDUs of %d octets", n, got.Received.FPDUs, got.Received.Octets)
					}
					if !tt.want && got.EarlyFPDUs > 0 {
						t.Errorf("end %d: %d FPDUs were placed early", n, got.EarlyFPDUs)
					}
				}
				closeBoth(c)
			})
		})
	}
}

// dialed returns both ends of a connection that was dialed in cfg.Backend.
func dialed(t *testing.T, cfg *extsock.Config) (c [2]*extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:1", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *extsock.Conn, 1)
	go func() {
		c, _ := l.AcceptDDP()
		accepted <- c
	}()
	d := extsock.Dialer{Config: cfg}
	if c[0], err = d.DialDDP(t.Context(), "tcp", "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if c[1] = <-accepted; c[1] == nil {
		t.Fatal("AcceptDDP has failed")
	}
	return c
}

// TestDialRetriesWithoutMarkers: a peer that rejects Markers, as siw does, is asked again without
// them, unless the program has asked for them. A rejection that has another cause is reported.
func TestDialRetriesWithoutMarkers(t *testing.T) {
	for name, tt := range map[string]struct {
		markers bool   // the program asks for them
		private []byte // in the rejection
		always  bool   // the peer rejects every Request
		asked   []bool // for Markers, by Request
		want    func(error) bool
	}{
		"knows no Markers":      {asked: []bool{true, false}, want: func(err error) bool { return err == nil }},
		"the program asks":      {markers: true, asked: []bool{true}, want: isRejected},
		"the peer's program":    {private: []byte("busy"), asked: []bool{true}, want: isRejected},
		"rejects every Request": {always: true, asked: []bool{true, false}, want: isRejected},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				network := simtoe.New(simtoe.Config{Early: 0.5})
				l, err := network.Listen(t.Context(), "tcp", "127.0.0.1:1")
				if err != nil {
					t.Fatal(err)
				}
				var asked []bool
				over := make(chan struct{})
				go func() {
					defer close(over)
					for {
						s, err := l.Accept()
						if err != nil {
							return
						}
						asked = append(asked, foreignReply(t, s, tt.private, tt.always))
					}
				}()
				cfg := extsock.Config{Backend: network, Startup: extsock.StartupRequire, Markers: tt.markers, CloseTimeout: time.Second}
				c, err := extsock.Dial("tcp", "127.0.0.1:1", &cfg)
				if !tt.want(err) {
					t.Errorf("Dial = %v", err)
				}
				if err == nil {
					c.Close()
				}
				l.Close()
				<-over
				if len(asked) != len(tt.asked) || asked[0] != tt.asked[0] || asked[len(asked)-1] != tt.asked[len(asked)-1] {
					t.Errorf("the Requests asked for Markers: %t, want %t", asked, tt.asked)
				}
			})
		})
	}
}

func isRejected(err error) bool {
	r := (*mpa.RejectError)(nil)
	return errors.As(err, &r)
}

// foreignReply answers a Request like a stack without Markers, and reports whether the Request asks
// for them.
func foreignReply(t *testing.T, s toe.Stream, private []byte, always bool) (markers bool) {
	defer s.Close()
	request := foreignRequest(t, s)
	foreignAnswer(s, request, request.Markers || always, private)
	return request.Markers
}

// foreignRequest reads a Request.
func foreignRequest(t *testing.T, s toe.Stream) mpa.Frame {
	s.SetDeadline(time.Now().Add(time.Minute))
	request, err := rawpeer.ReadFrame(s)
	if err != nil {
		t.Errorf("the Request: %v", err)
	}
	return request
}

// foreignAnswer sends a Reply, and reads until the end unless the Reply is a rejection.
func foreignAnswer(s toe.Stream, request mpa.Frame, reject bool, private []byte) {
	reply := mpa.Frame{Reply: true, Revision: request.Revision, CRC: true, Enhanced: request.Enhanced, Reject: reject, PrivateData: private}
	s.Write(reply.AppendTo(nil))
	if !reject {
		_, _ = io.Copy(io.Discard, s)
	}
}

// TestDialRemembersRefusedMarkers: for some time, a Dialer no longer asks a peer that has refused
// Markers for them.
func TestDialRemembersRefusedMarkers(t *testing.T) {
	type dial struct {
		wait    time.Duration // before it
		markers bool          // the program asks for Markers
		knows   bool          // the peer knows Markers
		asked   string        // what the Requests ask for: "M" for Markers, with the revision
	}
	for name, tt := range map[string]struct {
		keep  time.Duration
		old   bool // the peer knows only revision 1, and closes the connection otherwise
		dials []dial
	}{
		"a minute":   {dials: []dial{{asked: "M2 2"}, {asked: "2"}, {wait: 59 * time.Second, asked: "2"}, {wait: time.Second, asked: "M2 2"}}},
		"as long as": {keep: time.Hour, dials: []dial{{asked: "M2 2"}, {wait: time.Hour - 1, asked: "2"}, {wait: 1, asked: "M2 2"}}},
		"nothing":    {keep: -1, dials: []dial{{asked: "M2 2"}, {asked: "M2 2"}}},
		"the peer has learned them": {dials: []dial{{asked: "M2 2"}, {asked: "2", knows: true}, {wait: time.Minute, asked: "M2", knows: true},
			{asked: "M2", knows: true}}},
		"the program has asked": {dials: []dial{{asked: "M2 2"}, {asked: "M2", markers: true, knows: true}, {asked: "M2 2"}}},
		"an old peer":           {old: true, dials: []dial{{asked: "M2 2 1", knows: true}, {asked: "M1", knows: true}}},
		"an old peer without":   {old: true, dials: []dial{{asked: "M2 2 1"}, {asked: "M1 1"}, {asked: "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				network := simtoe.New(simtoe.Config{Early: 0.5})
				l, err := network.Listen(t.Context(), "tcp", "127.0.0.1:1")
				if err != nil {
					t.Fatal(err)
				}
				var asked []string
				var knows bool
				over := make(chan struct{})
				go func() {
					defer close(over)
					for {
						s, err := l.Accept()
						if err != nil {
							return
						}
						request := foreignRequest(t, s)
						what := fmt.Sprint(request.Revision)
						if request.Markers {
							what = "M" + what
						}
						if asked = append(asked, what); !tt.old || request.Revision == 1 {
							foreignAnswer(s, request, request.Markers && !knows, nil)
						}
						s.Close()
					}
				}()
				cfg := extsock.Config{Backend: network, CloseTimeout: time.Second, RetryRevision1: true}
				d := extsock.Dialer{Config: &cfg, FallbackFor: tt.keep}
				for n, dial := range tt.dials {
					time.Sleep(dial.wait)
					synctest.Wait()
					asked, knows, cfg.Markers = nil, dial.knows, dial.markers
					c, err := d.DialDDP(t.Context(), "tcp", "127.0.0.1:1")
					if err != nil {
						t.Fatalf("dial %d: %v", n, err)
					}
					c.Close()
					synctest.Wait()
					if got := strings.Join(asked, " "); got != dial.asked {
						t.Errorf("dial %d: the Requests were %q, want %q", n, got, dial.asked)
					}
				}
				l.Close()
				<-over
			})
		})
	}
}
