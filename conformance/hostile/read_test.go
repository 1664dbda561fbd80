package hostile

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// TestReadFloodBeyondIRD: of IRD+1 to 100,000 Read Requests in one write, at most IRD are answered,
// and the next one ends the stream with Untagged Buffer Error 0x02. Another stream keeps at least
// 90 % of its rate while four such peers a second connect.
//
// DDP-5041-7.2-9
func TestReadFloodBeyondIRD(t *testing.T) {
	const ird, size = 16, 1000
	memory := make([]byte, size)
	for _, n := range []int{ird + 1, ird + 2, 2 * ird, 1000, 100_000} {
		var h rdmap.Handle
		p, c := connected(t, extsock.Config{Messages: true, IRD: ird}, nil, func(c *extsock.Conn) {
			r, err := c.Register(memory, ddp.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			h = r.Handle()
		})
		answered := c.Stats
		go func() { p.Write(p.reads(n, h, size)) }()
		layer, etype, code, err := p.terminate()
		if err != nil || layer != 1 || etype != 2 || code != 2 {
			t.Errorf("%d Reads: Terminate with layer %d, type %d, code %d, %v; want 1, 2, 2", n, layer, etype, code, err)
		}
		if got := answered().Sent.ReadResponses; got > ird {
			t.Errorf("%d Reads at once: %d were answered, IRD is %d", n, got, ird)
		}
		p.Close()
		c.Close()
	}

	good := goodStream(t)
	defer good.stop()
	window := time.Duration(testmode.Count(500, 250)) * time.Millisecond
	good.rate(window)
	flood := (&peer{tx: mpa.NewSender(mpa.Agreement{CRC: true})}).reads(100_000, rdmap.Handle{}, 0) // the same for each
	var share float64
	for attempt := 1; ; attempt++ { // other work on the machine can only reduce the share
		var alone, beside float64
		for range 3 {
			alone += good.rate(window)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					p, c := connected(t, extsock.Config{Messages: true, IRD: ird}, nil, nil)
					p.Write(flood)
					p.Close()
					c.Close()
					select {
					case <-stop:
						return
					case <-time.After(250 * time.Millisecond):
					}
				}
			}()
			beside += good.rate(window)
			close(stop)
			<-stopped
		}
		share = beside / alone
		t.Logf("the good stream has %.0f MB/s alone, %.0f beside Read floods: %.0f %%", alone/3e6, beside/3e6, 100*share)
		if share >= 0.9 || attempt == 3 || !testmode.Full || testmode.Race {
			break
		}
	}
	if testmode.Full && !testmode.Race && share < 0.9 {
		t.Errorf("the good stream keeps %.0f %% of its rate, want 90", 100*share)
	}
}

// reads returns n Read Requests as FPDUs.
func (p *peer) reads(n int, h rdmap.Handle, size uint32) []byte {
	requests := make([][]byte, n)
	for i := range requests {
		requests[i] = p.aRead(h, size)
	}
	return p.fpdus(requests...)
}

// TestSlowReaders: 100 peers request IRD · 1 GiB each and read nothing. They make the process hold
// at most SetMemoryLimit, and for each stream one FPDU and its fixed state, together 128 KiB. The
// write time-out ends all of them. Without the tag conformance 20 peers request 16 MiB.
func TestSlowReaders(t *testing.T) {
	const ird, limit, each = 16, 8 << 20, 128 << 10
	peers, size := testmode.Count(100, 20), testmode.Count(1<<30, 16<<20)
	defer extsock.SetMemoryLimit(extsock.SetMemoryLimit(limit))
	memory := make([]byte, size)
	cfg := extsock.Config{Messages: true, IRD: ird, WriteTimeout: time.Duration(testmode.Count(3, 1)) * time.Second, CloseTimeout: time.Second}
	var conns []*extsock.Conn
	var all []*peer
	requests := make([][]byte, peers)
	for i := range peers {
		var h rdmap.Handle
		p, c := connected(t, cfg, nil, func(c *extsock.Conn) {
			r, err := c.Register(memory, ddp.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			h = r.Handle()
		})
		requests[i] = p.reads(ird, h, uint32(size))
		p.rx, p.in, p.batch = nil, nil, nil // the peers' memory is not measured
		all, conns = append(all, p), append(conns, c)
	}
	before, begin := inUse(), time.Now()
	for i, p := range all {
		if _, err := p.Write(requests[i]); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "TCP takes no more", func() bool {
		stalled := 0
		for _, c := range conns {
			if c.Stats().Sent.ReadResponses > 0 {
				stalled++
			}
		}
		return stalled == peers
	})
	time.Sleep(500 * time.Millisecond)
	held := inUse() - before
	t.Logf("%d peers that do not read %d GiB: %d octets in all, %d each; the limit is %d", peers, int64(ird)*int64(size)>>30, held, held/int64(peers), limit)
	if most := int64(limit + peers*each); !testmode.Race && held > most {
		t.Errorf("%d octets are held, want at most %d", held, most)
	}
	for _, c := range conns {
		_, err := c.Read(make([]byte, 1))
		if e, ok := err.(net.Error); !errors.Is(err, extsock.ErrLimit) || !ok || !e.Timeout() { //nolint:errorlint // as programs do it
			t.Errorf("the connection ends with %v, want ErrLimit, a timeout", err)
		}
		if c.Stats().WriteTimeouts != 1 {
			t.Errorf("%d write time-outs counted", c.Stats().WriteTimeouts)
		}
	}
	t.Logf("all ended after %v", time.Since(begin).Round(time.Millisecond))
	for i, c := range conns {
		all[i].Close()
		c.Close()
	}
}
