package extsock_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStreamWithEarlyRuns moves a byte stream whose FPDUs are short enough to be found in the runs
// that arrive early. Segments that were placed early then complete a message before the next
// message begins.
func TestStreamWithEarlyRuns(t *testing.T) {
	for _, messages := range []bool{false, true} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("messages %t, seed %d", messages, seed), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := side{cfg: extsock.Config{Markers: true, MaxFPDU: 700, Messages: messages}}
					ci, cr := simPair(t, simtoe.Config{Seed: seed, Split: true, MaxSegment: 2500, Early: 0.6}, s, s)
					bounded(t, ci, cr)
					bothWays(t, ci, cr, 1<<19, 1<<16)
				})
			})
		}
	}
}

// TestMarkersByThemselves: over a stream that shows runs early, both ends ask for Markers, unless
// Config.NoEarlyPlacement or NoCRC is set. Then segments are placed early.
func TestMarkersByThemselves(t *testing.T) {
	for _, tt := range []struct {
		desc         string
		early        float64
		dial, listen extsock.Config
		dials        bool // the dialing end receives markers
		listens      bool
	}{
		{desc: "early runs", early: 0.5, dials: true, listens: true},
		{desc: "no early runs"},
		{desc: "the dialing end does not want them", early: 0.5, dial: extsock.Config{NoEarlyPlacement: true}, listens: true},
		{desc: "the accepting end does not want them", early: 0.5, listen: extsock.Config{NoEarlyPlacement: true}, dials: true},
		{desc: "no CRC", early: 0.5, dial: extsock.Config{NoCRC: true}, listen: extsock.Config{NoCRC: true}},
		{desc: "the dialing end hides that it is rddp", early: 0.5, dial: extsock.Config{NoCapabilities: true}, dials: true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				network := simtoe.New(simtoe.Config{Seed: 1, Split: true, MaxSegment: 4000, Early: tt.early})
				tt.dial.Backend, tt.listen.Backend = network, network
				tt.dial.Startup, tt.listen.Startup = extsock.StartupRequire, extsock.StartupRequire
				tt.dial.Messages = true
				l, err := extsock.Listen("tcp", "127.0.0.1:1", &tt.listen)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				got := make(chan extsock.ConnectionState, 1)
				placed := make(chan uint64, 1)
				go func() {
					c, err := l.AcceptDDP()
					if err != nil {
						return
					}
					defer c.Close()
					for p := make([]byte, 64<<10); err == nil; {
						_, err = c.Read(p)
					}
					got <- c.ConnectionState()
					placed <- c.Stats().EarlyFPDUs
				}()
				c, err := extsock.Dial("tcp", "127.0.0.1:1", &tt.dial)
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					if _, err := c.Write(make([]byte, 60_000)); err != nil {
						t.Fatal(err)
					}
				}
				c.Close()
				if s := c.ConnectionState(); s.ReceivesMarkers != tt.dials || s.SendsMarkers != tt.listens {
					t.Errorf("the dialing end receives markers: %t, sends them: %t", s.ReceivesMarkers, s.SendsMarkers)
				}
				if s := <-got; s.ReceivesMarkers != tt.listens || s.SendsMarkers != tt.dials {
					t.Errorf("the accepting end receives markers: %t, sends them: %t", s.ReceivesMarkers, s.SendsMarkers)
				}
				if n := <-placed; (n > 0) != tt.listens {
					t.Errorf("%d FPDUs were placed early", n)
				}
			})
		})
	}
}

// TestDialWithoutMarkers: if a peer refuses Markers, in either way, Dial makes a second connection
// without them. It does not give up Markers that the program has asked for.
func TestDialWithoutMarkers(t *testing.T) {
	for _, rejects := range []bool{true, false} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprintf("rejects %t, asked %t", rejects, asked), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					network := simtoe.New(simtoe.Config{Early: 0.5})
					l, err := network.Listen(t.Context(), "tcp", "127.0.0.1:1")
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					var markers []bool // of the Requests
					done := make(chan struct{})
					go func() {
						defer close(done)
						for {
							s, err := l.Accept()
							if err != nil {
								return
							}
							markers = append(markers, refuseMarkers(s, rejects))
						}
					}()
					cfg := &extsock.Config{Backend: network, Startup: extsock.StartupRequire, Markers: asked}
					c, err := extsock.Dial("tcp", "127.0.0.1:1", cfg)
					if err == nil {
						c.Close()
					}
					if (err != nil) != asked {
						t.Errorf("Dial = %v", err)
					}
					l.Close()
					<-done
					want := []bool{true}
					if !asked {
						want = append(want, false)
					}
					if !slices.Equal(markers, want) {
						t.Errorf("Requests asked for markers: %v, want %v", markers, want)
					}
				})
			})
		}
	}
}

// refuseMarkers answers one Request as a peer that cannot send markers. It reports whether the
// Request asked for them.
func refuseMarkers(s net.Conn, rejects bool) (markers bool) {
	defer s.Close()
	b := make([]byte, 20)
	if _, err := io.ReadFull(s, b); err != nil {
		return false
	}
	io.CopyN(io.Discard, s, int64(b[18])<<8|int64(b[19]))
	if markers = b[16]&0x80 != 0; markers && !rejects {
		return true
	}
	s.Write(mpa.Frame{Reply: true, Revision: b[17], CRC: true, Reject: markers, Enhanced: b[16]&0x10 != 0, IRD: 1, ORD: 1}.AppendTo(nil))
	io.Copy(io.Discard, s)
	return markers
}

// TestEarlyPlacementChangesNothing runs the same operations with and without early placement, over
// a simulated TCP that shows many runs early.
// MPA-5044-1.2-1
func TestEarlyPlacementChangesNothing(t *testing.T) {
	scenario.EarlyPlacementChangesNothing(t, scenario.EarlyNetwork{
		Pair: func(_ *testing.T, seed uint64) (a, b toe.Stream, stop func() (lost uint64)) {
			wire := simtoe.Config{Seed: seed, Split: true, MaxSegment: 3000, Early: 0.5}
			a, b = simtoe.Pair(wire, wire)
			return a, b, func() uint64 { return 0 }
		},
		Requests: 24, Length: 20_000, Seeds: testmode.Count(10_000, testmode.Rounds(100, 30)), AtOnce: 2,
	})
}
