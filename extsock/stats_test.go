package extsock_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStats does one of each operation and checks the counts at both ends.
func TestStats(t *testing.T) {
	alone(t)
	bubble(t, testStats)
}

func testStats(t *testing.T) {
	before := extsock.TotalStats()
	ci, cr := simPair(t, simtoe.Config{}, alwaysOffers(0), alwaysOffers(0))
	memory := make([]byte, 64)
	m := ci.Remote(register(t, cr, memory, everyAccess).Handle())
	if _, err := m.WriteAt(pattern(64, 1), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(make([]byte, 64), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.FetchAdd(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	const short, long = 100, 1 << 20
	if _, err := ci.Write(make([]byte, short)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(cr, make([]byte, short)); err != nil {
		t.Fatal(err)
	}
	go func() {
		synctest.Wait() // until the Read waits
		ci.Write(make([]byte, long))
	}()
	if _, err := io.ReadFull(cr, make([]byte, long)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(make([]byte, 1), 0); err != nil { // then everything before it has been counted
		t.Fatal(err)
	}

	out, in := ci.Stats().Sent, cr.Stats().Received
	if out != in {
		t.Errorf("one end sent %+v, the other received %+v", out, in)
	}
	ops := in
	if ops.Writes < 2 || ops.ReadRequests != 2 || ops.AtomicRequests != 1 || ops.Sends < 3 || in.FPDUs < 8 || in.Octets < long {
		t.Errorf("received: %+v", in)
	}
	answers := cr.Stats().Sent
	if answers.ReadResponses != 2 || answers.AtomicResponses != 1 || answers.Sends == 0 {
		t.Errorf("answers: %+v", answers)
	}
	reader, writer := cr.Stats(), ci.Stats()
	if reader.CopiedOctets+reader.DirectOctets != short+long || reader.DirectOctets < long/2 {
		t.Errorf("%d octets copied, %d placed directly, of %d", reader.CopiedOctets, reader.DirectOctets, short+long)
	}
	if writer.Offers == 0 || writer.RendezvousOctets < long/2 {
		t.Errorf("%d offers placed %d octets", writer.Offers, writer.RendezvousOctets)
	}

	ci.Close()
	cr.Close()
	total := extsock.TotalStats()
	if total.Connections-before.Connections != 2 || total.Sent.FPDUs < before.Sent.FPDUs+writer.Sent.FPDUs {
		t.Errorf("in total %+v, before %+v", total, before)
	}
	settle()
	if open := extsock.TotalStats().Open; open != 0 {
		t.Errorf("%d connections are open", open)
	}
	if b, err := json.Marshal(total); err != nil || !strings.Contains(string(b), `"Fallbacks":{`) {
		t.Errorf("as JSON %s, %v", b, err)
	}
}

// TestStatsInTCPMode: in TCP mode all counts are zero.
func TestStatsInTCPMode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, nil)
		defer b.Close()
		defer c.Close()
		if s := c.Stats(); s != (stats.Counts{}) {
			t.Errorf("got %+v", s)
		}
	})
}

// TestStatsOfEarlyRuns: octets that a stream shows early, and then again in order, count once.
func TestStatsOfEarlyRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		wire := simtoe.Config{Seed: 1, Split: true, MaxSegment: 4000, Early: 0.5}
		s := side{cfg: extsock.Config{Markers: true}}
		ci, cr := simPair(t, wire, s, s)
		bothWays(t, ci, cr, 1<<20, 1<<16)
		time.Sleep(time.Second) // after a trusted Read has left, nothing is received before the alarm, 5 ms later
		for _, pair := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
			if sent, got := pair[0].Stats().Sent, pair[1].Stats().Received; sent.Octets != got.Octets || sent.FPDUs != got.FPDUs {
				t.Errorf("%d octets in %d FPDUs were received of %d in %d", got.Octets, got.FPDUs, sent.Octets, sent.FPDUs)
			}
			if s := pair[1].Stats(); s.SavedCopies != s.EarlyFPDUs || s.BufferedOctets == 0 {
				t.Errorf("%d copies were saved by %d FPDUs placed early; %d octets were buffered", s.SavedCopies, s.EarlyFPDUs, s.BufferedOctets)
			}
			if s := pair[1].Stats(); s.EarlyFPDUs == 0 || s.EarlyOctets < s.EarlyFPDUs || s.EarlyFPDUs >= s.Received.FPDUs {
				t.Errorf("of %d FPDUs, %d were placed early, with %d octets", s.Received.FPDUs, s.EarlyFPDUs, s.EarlyOctets)
			}
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// A shownStream counts the bytes that it shows early.
type shownStream struct {
	toe.Stream
	next, early uint64
}

func (s *shownStream) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	n, off, err = s.Stream.ReadSegment(l, patience)
	if off > s.next {
		s.early += uint64(n)
	} else {
		s.next = off + uint64(n)
	}
	return n, off, err
}

// TestBufferedOctets: octets that a stream shows early are in FPDUs that are placed, or they count
// as buffered.
func TestBufferedOctets(t *testing.T) {
	for _, places := range []bool{true, false} {
		t.Run(fmt.Sprintf("early placement %t", places), func(t *testing.T) {
			bubble(t, func(t *testing.T) { testBufferedOctets(t, places) })
		})
	}
}

func testBufferedOctets(t *testing.T, places bool) {
	const size, writes = 50_000, 20
	x, y := simtoe.Pair(simtoe.Config{Seed: 1, Split: true, MaxSegment: 4000, Early: 0.5}, simtoe.Config{})
	shown := &shownStream{Stream: y}
	cfg := extsock.Config{Markers: true, NoEarlyPlacement: !places, MaxFPDU: 1000}
	ci, cr := switched(t, x, shown, side{cfg: cfg}, side{cfg: cfg})
	target := register(t, cr, make([]byte, size), ddp.RemoteWrite).Handle()
	for range writes {
		do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: pattern(size, 1), Remote: target})
	}
	ci.Close()
	settle() // until all has arrived
	s := cr.Stats()
	cr.Close()
	if shown.early < size || s.Received.Writes < writes {
		t.Fatalf("%d octets were shown early, %d Writes arrived", shown.early, s.Received.Writes)
	}
	// An FPDU is its ULPDU, a length, a CRC, at most 3 octets of PAD, and at most 2 Markers.
	least, most := s.EarlyOctets+(2+4)*s.EarlyFPDUs, s.EarlyOctets+(2+4+3+2*4)*s.EarlyFPDUs
	if placed := shown.early - s.BufferedOctets; s.BufferedOctets > shown.early || placed < least || placed > most {
		t.Errorf("of %d octets shown early, %d were buffered; %d FPDUs were placed, of %d to %d octets", shown.early, s.BufferedOctets, s.EarlyFPDUs, least, most)
	}
	if s.SavedCopies != s.EarlyFPDUs || (s.EarlyFPDUs > 0) != places {
		t.Errorf("%d copies were saved by %d FPDUs placed early", s.SavedCopies, s.EarlyFPDUs)
	}
}

// TestTotalsLetGo: a connection that has ended is no longer in the list of open ones, which would
// keep it in memory, whichever end has closed it first. Its counts stay in the totals, once.
func TestTotalsLetGo(t *testing.T) {
	alone(t)
	ends := map[string]func(a, b *extsock.Conn){
		"one":    func(a, b *extsock.Conn) { a.Close(); b.Close() },
		"other":  func(a, b *extsock.Conn) { b.Close(); a.Close() },
		"resets": func(a, b *extsock.Conn) { a.SetLinger(0); a.Close(); b.Close() },
		"a fault": func(a, b *extsock.Conn) {
			a.Remote(rdmap.Handle{STag: 1, Len: 1}).WriteAt([]byte{1}, 0)
			b.Read(make([]byte, 1))
			a.Close()
			b.Close()
		},
	}
	for desc, end := range ends {
		t.Run(desc, func(t *testing.T) {
			before := extsock.TotalStats()
			a, b := simPair(t, simtoe.Config{}, side{}, side{})
			if _, err := a.Write([]byte("octets")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Read(make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			if n := extsock.TotalStats().Open; n != 2 {
				t.Errorf("%d are open, want 2", n)
			}
			end(a, b)
			prototest.Wait(t, "the connections end", func() bool { return extsock.TotalStats().Open == 0 })
			want := a.Stats().Received.FPDUs + b.Stats().Received.FPDUs
			if got := extsock.TotalStats().Received.FPDUs - before.Received.FPDUs; got != want {
				t.Errorf("%d FPDUs counted, want %d", got, want)
			}
		})
	}
}

// TestTotalsOfTheLastOctets: octets that are read after the end of the connection count too.
func TestTotalsOfTheLastOctets(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		before := extsock.TotalStats()
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		if _, err := cr.Write(tapeAt(0, 5000)); err != nil {
			t.Fatal(err)
		}
		cr.Close()
		settle()
		ci.CloseWrite()
		settle()
		if open := extsock.TotalStats().Open; open != 0 {
			t.Fatalf("%d connections have not ended", open)
		}
		n, err := ci.Read(make([]byte, 5000))
		if n != 5000 || err != nil {
			t.Fatalf("Read = %d, %v", n, err)
		}
		if got := extsock.TotalStats().CopiedOctets - before.CopiedOctets; got != 5000 {
			t.Errorf("%d octets counted, want 5000", got)
		}
		ci.Close()
		settle()
	})
}

// TestConnections: Connections lists the open connections with their counts, and no connection that
// has ended.
func TestConnections(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		before := extsock.TotalStats().Connections
		time.Sleep(time.Hour)
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{cfg: extsock.Config{Messages: true}})
		di, dr := simPair(t, simtoe.Config{}, side{}, side{})
		began := time.Now()
		if _, err := di.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(dr, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		all := slices.Collect(extsock.Connections())
		if len(all) != 4 {
			t.Fatalf("%d connections are listed, want 4", len(all))
		}
		initiators := 0
		for i, c := range all {
			if c.Number != before+uint64(i)+1 || !c.Since.Equal(began) || c.Local.String() == c.Remote.String() {
				t.Errorf("connection %d of %d: number %d, since %v, from %v to %v", i, before, c.Number, c.Since, c.Local, c.Remote)
			}
			if c.ByteStream != (i >= 2) {
				t.Errorf("connection %d: byte stream %v", i, c.ByteStream)
			}
			if c.Initiator {
				initiators++
			}
		}
		if initiators != 2 {
			t.Errorf("%d are initiators, want 2", initiators)
		}
		if got := []stats.Counts{all[2].Counts, all[3].Counts}; !slices.Contains(got, di.Stats()) || !slices.Contains(got, dr.Stats()) {
			t.Errorf("listed %+v, counted %+v and %+v", got, di.Stats(), dr.Stats())
		}
		for range extsock.Connections() {
			break // the iteration may end early
		}
		for _, c := range []*extsock.Conn{ci, cr} {
			c.Close()
		}
		settle()
		if left := slices.Collect(extsock.Connections()); len(left) != 2 || left[0].Number != all[2].Number {
			t.Errorf("left are %+v", left)
		}
		di.Close()
		dr.Close()
		settle()
		for c := range extsock.Connections() {
			t.Errorf("connection %d is open", c.Number)
		}
	})
}

// TestConnectionsOverTCP: connections over TCP are listed with their addresses.
func TestConnectionsOverTCP(t *testing.T) {
	alone(t)
	ci, cr := tcpPair(t, side{}, side{})
	defer ci.Close()
	defer cr.Close()
	want := map[string]string{ci.LocalAddr().String(): cr.LocalAddr().String(), cr.LocalAddr().String(): ci.LocalAddr().String()}
	got := make(map[string]string)
	for c := range extsock.Connections() {
		got[c.Local.String()] = c.Remote.String()
	}
	if !maps.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// TestFailures: a connection that ends although neither end has closed it counts once. Others do
// not count.
func TestFailures(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		before := extsock.TotalStats().Failures
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		ci.Close()
		cr.Close()
		settle()
		if n := extsock.TotalStats().Failures - before; n != 0 {
			t.Errorf("%d connections that were closed have failed", n)
		}
		ci, cr = simPair(t, simtoe.Config{}, side{}, side{cfg: extsock.Config{IdleTimeout: time.Second}})
		time.Sleep(time.Minute)
		if got := cr.Stats().IdleTimeouts; got != 1 {
			t.Errorf("%d idle timeouts, want 1", got)
		}
		ci.Close()
		cr.Close()
		settle()
		if n := extsock.TotalStats().Failures - before; n < 1 || n > 2 { // the peer sees a reset, or an end in order
			t.Errorf("%d connections have failed", n)
		}
	})
}
