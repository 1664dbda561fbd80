package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A stream is a good stream whose arriving octets are counted.
type stream struct {
	octets atomic.Int64
	gate   sync.Mutex // held for each Write
	stop   func()
}

// inUse calls the function inUse while nothing is written, so that the stream has returned its
// borrowed buffers.
func (s *stream) inUse() int64 {
	s.gate.Lock()
	defer s.gate.Unlock()
	return leastInUse()
}

// goodStream writes 64 KiB at a time from one end to the other until it is stopped.
func goodStream(t *testing.T) *stream {
	t.Helper()
	ci, cr := pair(t, extsock.Config{}, extsock.Config{})
	s := &stream{}
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		defer wg.Done()
		for b := make([]byte, 64<<10); ; {
			s.gate.Lock()
			_, err := ci.Write(b)
			s.gate.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer wg.Done()
		for b := make([]byte, 64<<10); ; {
			n, err := cr.Read(b)
			if err != nil {
				return
			}
			s.octets.Add(int64(n))
		}
	}()
	s.stop = func() { cr.SetLinger(0); cr.Close(); ci.Close(); wg.Wait() }
	return s
}

// rate measures for d, in octets per second.
func (s *stream) rate(d time.Duration) float64 {
	before, begin := s.octets.Load(), time.Now()
	time.Sleep(d)
	return float64(s.octets.Load()-before) / time.Since(begin).Seconds()
}

// A flood describes what a hostile peer sends as fast as it can.
type flood struct {
	desc string
	cfg  extsock.Config
	// send sends some more.
	send func(p *peer) error
}

var floods = []flood{
	{"empty Sends", extsock.Config{Messages: true}, func(p *peer) error {
		var sends [64][]byte
		for i := range sends {
			sends[i] = p.aSend()
		}
		_, err := p.Write(p.fpdus(sends[:]...))
		return err
	}},
	{"empty Writes", extsock.Config{Messages: true}, func(p *peer) error {
		if p.flood == nil {
			var writes [2000][]byte
			for i := range writes {
				writes[i] = aWrite()
			}
			p.flood = p.fpdus(writes[:]...)
		}
		_, err := p.Write(p.flood)
		return err
	}},
	{"empty Reads", extsock.Config{Messages: true}, func(p *peer) error {
		const ird, response = 16, 20 // a Read Response of length 0 is an FPDU of 20 octets
		var reads [ird][]byte
		for i := range reads {
			reads[i] = p.aRead(rdmap.Handle{}, 0)
		}
		if _, err := p.Write(p.fpdus(reads[:]...)); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, p.in, ird*response)
		return err
	}},
}

func init() { roles["flood"] = runFlood }

// floodEnv is the environment variable with the floodJob of a flooding process.
const floodEnv = "RDDP_FLOOD"

// floodJob describes the task of that process.
type floodJob struct {
	Address string
	Flood   int // index in floods
}

// runFlood connects and sends as its standard input says, until that ends.
func runFlood() error {
	var j floodJob
	if err := json.Unmarshal([]byte(os.Getenv(floodEnv)), &j); err != nil {
		return err
	}
	time.AfterFunc(2*time.Minute, func() { os.Exit(1) }) // the parent may be gone
	c, err := net.Dial("tcp", j.Address)
	if err != nil {
		return err
	}
	if _, err := rawpeer.Start(c, mpa.Frame{Revision: 1, CRC: true}); err != nil {
		return err
	}
	p := &peer{Conn: c, in: bufio.NewReader(c), tx: mpa.NewSender(mpa.Agreement{CRC: true})}
	told := make(chan string)
	go func() {
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			told <- s.Text()
		}
		close(told)
	}()
	for s := range told {
		for s == "flood" {
			if err := floods[j.Flood].send(p); err != nil {
				return err
			}
			select {
			case s = <-told:
			default:
			}
		}
		if s == "pause" {
			fmt.Println("paused")
		}
	}
	return nil
}

// TestFloods: one of two streams is flooded with empty messages. The other keeps at least 40 % of
// the rate that it has alone, and afterwards the heap has grown by at most 1 MiB.
func TestFloods(t *testing.T) {
	window := time.Duration(testmode.Count(500, 100)) * time.Millisecond
	good := goodStream(t)
	defer good.stop()
	good.rate(window)
	for i, f := range floods {
		t.Run(f.desc, func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &f.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			job, err := json.Marshal(floodJob{l.Addr().String(), i})
			if err != nil {
				t.Fatal(err)
			}
			flooder := startChild(t, "flood", floodEnv+"="+string(job))
			defer flooder.end(t)
			c, err := acceptConn(l)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.EnableDDP(timeLimit(t), nil); err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() {
				defer close(over)
				for b := make([]byte, 64); ; {
					if _, err := c.Read(b); err != nil {
						return
					}
				}
			}()
			before := good.inUse()
			var share float64
			for attempt := 1; ; attempt++ { // other work on the machine can only reduce the share
				var alone, beside float64
				for range 3 {
					alone += good.rate(window)
					fmt.Fprintln(flooder.in, "flood")
					beside += good.rate(window)
					if s := flooder.ask(t, "pause"); s != "paused" {
						t.Fatalf("the flood says %q", s)
					}
				}
				share = beside / alone
				t.Logf("the good stream has %.0f MB/s alone, %.0f beside %s: %.0f %%", alone/3e6, beside/3e6, f.desc, 100*share)
				if share >= 0.4 || attempt == 3 || !testmode.Full || testmode.Race {
					break
				}
			}
			grown := good.inUse() - before
			t.Logf("%d %s; the heap has grown by %d octets", c.Stats().Received.FPDUs, f.desc, grown)
			if testmode.Full && !testmode.Race && share < 0.4 {
				t.Errorf("the good stream keeps %.0f %% of its rate, want 40", 100*share)
			}
			if !testmode.Race && grown > 1<<20 {
				t.Errorf("the heap has grown by %d octets", grown)
			}
			c.SetLinger(0)
			c.Close()
			<-over
		})
	}
}
