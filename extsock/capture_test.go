package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/capture"
	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

func newCapture(t testing.TB, w io.Writer) *capture.Writer {
	t.Helper()
	cp, err := capture.NewWriter(w)
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

func startCapture(t testing.TB, cp *capture.Writer, conns ...*extsock.Conn) {
	t.Helper()
	for _, c := range conns {
		if _, err := cp.Start(c); err != nil {
			t.Fatal(err)
		}
	}
}

// captured is what a capture holds.
type captured struct {
	starts  int // Requests
	fpdus   int
	fillers int               // FPDUs that are made up
	writes  map[string][]byte // by sender: the payload of its RDMA Writes, one after the other
	sends   map[string][]byte // the same for Sends
	records []dissect.Record
	errors  []dissect.Record // the records that report an error
}

// A place is where the next segment of a Send belongs.
type place struct{ msn, mo uint32 }

// decode is decodeWithErrors for a capture without errors.
func decode(t testing.TB, file []byte, crc bool) captured {
	t.Helper()
	c := decodeWithErrors(t, file, crc)
	for _, r := range c.errors {
		t.Errorf("record: %v", r)
	}
	return c
}

// decodeWithErrors decodes a capture and checks that every FPDU has a good CRC, if it has one, and
// that no segment of a Send is missing between two others. An incomplete FPDU is an error.
func decodeWithErrors(t testing.TB, file []byte, crc bool) captured {
	t.Helper()
	c := captured{writes: map[string][]byte{}, sends: map[string][]byte{}}
	next := map[[2]netip.AddrPort]place{} // by sender and receiver
	want := dissect.CRCGood
	if !crc {
		want = dissect.CRCOff
	}
	err := dissect.Read(bytes.NewReader(file), func(r dissect.Record) error {
		c.records = append(c.records, r)
		src := r.Src.String()
		switch {
		case r.Error != "":
			c.errors = append(c.errors, r)
		case r.Kind == dissect.KindRequest:
			c.starts++
		case r.FPDU == nil:
		case r.CRC != want:
			t.Errorf("CRC is %s, want %s: %v", r.CRC, want, r)
		case r.Tagged != nil && r.STag == 0 && bytes.HasPrefix([]byte("made up by rddp: "), r.Payload[:min(len(r.Payload), 17)]) && r.PayloadLen > 0:
			c.fillers++
		case r.Op == "rdma-write":
			c.writes[src] = append(c.writes[src], r.Payload...)
		case r.Op == "send":
			way := [2]netip.AddrPort{r.Src, r.Dst}
			if p, ok := next[way]; ok && p != (place{r.MSN, r.MO}) {
				t.Errorf("MSN %d, MO %d, want %v: %v", r.MSN, r.MO, p, r)
			}
			next[way] = place{r.MSN, r.MO + uint32(r.PayloadLen)}
			if r.Last {
				next[way] = place{r.MSN + 1, 0}
			}
			c.sends[src] = append(c.sends[src], r.Payload...)
		}
		if r.FPDU != nil {
			c.fpdus++
		}
		return nil
	})
	if err != nil {
		t.Errorf("dissect.Read: %v", err)
	}
	return c
}

// traffic fills both directions of a connection with octets until stop, and checks what comes.
type traffic struct {
	t      testing.TB
	ends   [2]*extsock.Conn
	stop   atomic.Bool
	wg     sync.WaitGroup
	passed [2]chan struct{} // a value for each 64 KiB that have come, if a goroutine takes it
}

func newTraffic(t testing.TB, ci, cr *extsock.Conn) *traffic {
	f := &traffic{t: t, ends: [2]*extsock.Conn{ci, cr}, passed: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	for i := range f.ends {
		f.wg.Go(func() { f.write(i) })
		f.wg.Go(func() { f.read(1 - i) })
	}
	return f
}

const trafficUnit = 64 << 10

// write writes units in pieces of many lengths. The last octet says whether more units come.
func (f *traffic) write(i int) {
	for n := 0; ; n++ {
		unit := pattern(trafficUnit, byte(n))
		last := f.stop.Load()
		unit[len(unit)-1] = 0
		if last {
			unit[len(unit)-1] = 1
		}
		for size := 1 + n%7; len(unit) > 0; size = size*3 + n%5 {
			k := min(size, len(unit))
			if _, err := f.ends[i].Write(unit[:k]); err != nil {
				f.t.Errorf("Write: %v", err)
				return
			}
			unit = unit[k:]
		}
		if last {
			return
		}
	}
}

func (f *traffic) read(i int) {
	defer close(f.passed[i])
	unit := make([]byte, trafficUnit)
	for n := 0; ; n++ {
		if _, err := io.ReadFull(f.ends[i], unit); err != nil {
			f.t.Errorf("Read: %v", err)
			return
		}
		if end := trafficUnit - 1; !bytes.Equal(unit[:end], pattern(trafficUnit, byte(n))[:end]) {
			f.t.Errorf("unit %d has changed on its way", n)
			return
		}
		if unit[trafficUnit-1] == 1 {
			return
		}
		select {
		case f.passed[i] <- struct{}{}:
		default:
		}
	}
}

// pass waits until n units have come at each end.
func (f *traffic) pass(n int) {
	for range n {
		<-f.passed[0]
		<-f.passed[1]
	}
}

// finish stops the traffic and waits until all of it has come.
func (f *traffic) finish() {
	f.stop.Store(true)
	f.wg.Wait()
}

// captureLinks are the kinds of connections that the tests capture.
var captureLinks = []struct {
	desc   string
	i, r   extsock.Config
	pair   func(t testing.TB, i, r side) (ci, cr *extsock.Conn)
	tshark bool // Wireshark's decoder understands all of it: there are no markers
}{
	{desc: "loopback", pair: tcpPair, tshark: true},
	{desc: "loopback without CRC", i: extsock.Config{NoCRC: true}, r: extsock.Config{NoCRC: true}, pair: tcpPair, tshark: true},
	{desc: "loopback, markers both ways", i: extsock.Config{Markers: true}, r: extsock.Config{Markers: true}, pair: tcpPair},
	{desc: "splits", pair: splitPair(1, 0), tshark: true},
	{desc: "splits, markers both ways, early runs", i: extsock.Config{Markers: true}, r: extsock.Config{Markers: true}, pair: splitPair(2, 0.3)},
	{desc: "splits, markers one way", i: extsock.Config{Markers: true}, pair: splitPair(3, 0)},
	{desc: "splits, markers the other way", r: extsock.Config{Markers: true}, pair: splitPair(4, 0.3)},
	{desc: "revision 1", i: extsock.Config{Revision: 1}, pair: splitPair(5, 0), tshark: true},
	{desc: "long private data", i: extsock.Config{PrivateData: make([]byte, 488)}, r: extsock.Config{PrivateData: pattern(488, 1)}, pair: tcpPair, tshark: true},
}

// splitPair is a simulated connection whose octets come in pieces of random lengths.
func splitPair(seed uint64, early float64) func(t testing.TB, i, r side) (ci, cr *extsock.Conn) {
	return func(t testing.TB, i, r side) (ci, cr *extsock.Conn) {
		a, b := simtoe.Pair(simtoe.Config{Seed: seed, Split: true, Early: early}, simtoe.Config{Seed: seed + 100, Split: true, Early: early})
		return switched(t, a, b, i, r)
	}
}

// TestCaptureInTheMiddle starts and stops captures of both ends while both directions are busy.
func TestCaptureInTheMiddle(t *testing.T) {
	for _, tt := range captureLinks {
		t.Run(tt.desc, func(t *testing.T) {
			file, starts := captureBusy(t, tt.pair, tt.i, tt.r)
			got := decode(t, file, !tt.i.NoCRC)
			if got.starts != starts {
				t.Errorf("the capture has %d connections, want %d", got.starts, starts)
			}
			if markers := tt.i.Markers || tt.r.Markers; markers != (got.fillers > 0) || got.fillers > 2*starts {
				t.Errorf("%d FPDUs are made up; markers: %t", got.fillers, markers)
			}
		})
	}
}

// captureBusy returns a capture that was started and stopped while both directions were busy.
func captureBusy(t testing.TB, pair func(t testing.TB, i, r side) (ci, cr *extsock.Conn), i, r extsock.Config) (file []byte, starts int) {
	t.Helper()
	ci, cr := pair(t, side{cfg: i}, side{cfg: r})
	f := newTraffic(t, ci, cr)
	f.pass(1)
	var b bytes.Buffer
	cp := newCapture(t, &b)
	rounds := testmode.Rounds(2, 1)
	for range rounds {
		startCapture(t, cp, ci)
		f.pass(1)
		startCapture(t, cp, cr)
		f.pass(1)
		extsock.StopCapture(ci)
		f.pass(1)
		extsock.StopCapture(cr)
	}
	startCapture(t, cp, cr) // to the end of the connection
	f.finish()
	ci.Close()
	if _, err := cr.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read at the end: %v", err)
	}
	cr.Close()
	if err := cp.Close(); err != nil {
		t.Error(err)
	}
	return b.Bytes(), 2*rounds + 1
}

// TestCaptureHasAll: a capture that is started and stopped in quiet moments has exactly what was
// sent between.
func TestCaptureHasAll(t *testing.T) {
	for _, tt := range captureLinks {
		t.Run(tt.desc, func(t *testing.T) {
			i, r := tt.i, tt.r
			i.Messages, r.Messages = true, true
			ci, cr := tt.pair(t, side{cfg: i}, side{cfg: r})
			exchange := func(seed byte) {
				t.Helper()
				p := make([]byte, 40_000)
				for _, c := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
					if _, err := c[0].Write(pattern(40_000, seed)); err != nil {
						t.Fatal(err)
					}
					if n, err := c[1].Read(p); err != nil || !bytes.Equal(p[:n], pattern(40_000, seed)) {
						t.Fatalf("Read: %d octets, %v", n, err)
					}
				}
			}
			var files [2]bytes.Buffer
			captures := []*capture.Writer{newCapture(t, &files[0]), newCapture(t, &files[1])}
			exchange(1)
			startCapture(t, captures[0], ci)
			exchange(2)
			extsock.StopCapture(ci)
			exchange(3)
			startCapture(t, captures[1], ci)
			exchange(4)
			extsock.StopCapture(ci)
			exchange(5)
			for n, cp := range captures {
				if err := cp.Close(); err != nil {
					t.Fatal(err)
				}
				got := decode(t, files[n].Bytes(), !tt.i.NoCRC)
				if len(got.sends) != 2 || got.starts != 1 {
					t.Errorf("capture %d has Sends of %d ends in %d connections", n, len(got.sends), got.starts)
				}
				for end, octets := range got.sends {
					if !bytes.Equal(octets, pattern(40_000, byte(2+2*n))) {
						t.Errorf("capture %d: the Sends from %s are %d octets, and not those that were sent", n, end, len(octets))
					}
				}
			}
		})
	}
}

// TestCaptureOfStartup starts captures at all points of startup.
func TestCaptureOfStartup(t *testing.T) {
	for _, tt := range []struct {
		desc                 string
		tap                  bool
		plain, during, after bool // when to start
		wantPlain            bool
	}{
		{desc: "Config.Tap", tap: true, wantPlain: true},
		{desc: "before the first octet", plain: true, wantPlain: true},
		{desc: "between Request and Reply", during: true},
		{desc: "after startup", after: true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var files [2]bytes.Buffer
			captures := []*capture.Writer{newCapture(t, &files[0]), newCapture(t, &files[1])}
			var cfgs [2]extsock.Config
			if tt.tap {
				cfgs[0].Tap, cfgs[1].Tap = captures[0].Tap, captures[1].Tap
			}
			a, b := kernelStreams(t)
			ci, cr := extsock.NewConn(a, true, &cfgs[0]), extsock.NewConn(b, false, &cfgs[1])
			defer ci.Close()
			defer cr.Close()
			startIf := func(now bool) {
				t.Helper()
				if now {
					startCapture(t, captures[0], ci)
					startCapture(t, captures[1], cr)
				}
			}
			startIf(tt.plain)
			p := make([]byte, 100)
			if _, err := ci.Write([]byte("plain")); err != nil {
				t.Fatal(err)
			}
			if n, err := cr.Read(p); err != nil || string(p[:n]) != "plain" {
				t.Fatalf("Read = %q, %v", p[:n], err)
			}
			done := make(chan error, 1)
			go func() { done <- ci.EnableDDP(timeLimit(t), nil) }()
			request, err := cr.ReceiveRequest(timeLimit(t))
			if err != nil {
				t.Fatal(err)
			}
			startIf(tt.during)
			if err := errors.Join(request.Accept(timeLimit(t), nil), <-done); err != nil {
				t.Fatal(err)
			}
			startIf(tt.after)
			if _, err := ci.Write([]byte("in DDP mode")); err != nil {
				t.Fatal(err)
			}
			if n, err := cr.Read(p); err != nil || string(p[:n]) != "in DDP mode" {
				t.Fatalf("Read = %q, %v", p[:n], err)
			}
			ci.Close()
			if _, err := cr.Read(p); err != io.EOF {
				t.Errorf("Read at the end: %v", err)
			}
			cr.Close()
			for n, cp := range captures {
				if err := cp.Close(); err != nil {
					t.Fatal(err)
				}
				got := decode(t, files[n].Bytes(), true)
				if len(got.records) < 3 || got.records[0].Kind != dissect.KindRequest || got.records[1].Kind != dissect.KindReply {
					t.Fatalf("end %d: the records are %v", n, got.records)
				}
				if got.starts != 1 || !bytes.Contains(got.sends[got.records[0].Src.String()], []byte("in DDP mode")) {
					t.Errorf("end %d: %d connections with Sends %q", n, got.starts, got.sends)
				}
				if has := bytes.Contains(files[n].Bytes(), []byte("plain")); has != tt.wantPlain {
					t.Errorf("end %d: the octets of TCP mode are there: %t", n, has)
				}
			}
		})
	}
}

// TestCaptureAfterRejection: a later recording does not begin with the frames of a startup that was
// rejected.
func TestCaptureAfterRejection(t *testing.T) {
	a, b := kernelStreams(t)
	ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	defer ci.Close()
	defer cr.Close()
	enable := func(answer func(*extsock.Request) error) error {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- ci.EnableDDP(timeLimit(t), nil) }()
		request, err := cr.ReceiveRequest(timeLimit(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := answer(request); err != nil {
			t.Fatal(err)
		}
		return <-done
	}
	if err := enable(func(r *extsock.Request) error { return r.Reject(timeLimit(t), nil) }); err == nil {
		t.Fatal("no error of a rejected startup")
	}
	var file bytes.Buffer
	cp := newCapture(t, &file)
	startCapture(t, cp, ci, cr)
	if err := enable(func(r *extsock.Request) error { return r.Accept(timeLimit(t), nil) }); err != nil {
		t.Fatal(err)
	}
	extsock.StopCapture(ci)
	startCapture(t, cp, ci)
	extsock.StopCapture(ci)
	extsock.StopCapture(cr)
	if err := cp.Close(); err != nil {
		t.Fatal(err)
	}
	if got := decode(t, file.Bytes(), true); got.starts != 3 {
		t.Errorf("the capture has %d Requests, want one for each start, 3", got.starts)
	}
}

// diskFull is a file on a disk that is full after n octets.
type diskFull struct{ n int }

var errDiskFull = errors.New("no space left on device")

func (d *diskFull) Write(p []byte) (int, error) {
	n := min(d.n, len(p))
	d.n -= n
	if n < len(p) {
		return n, errDiskFull
	}
	return n, nil
}

// TestCaptureFails: a capture that cannot be written disturbs no connection.
func TestCaptureFails(t *testing.T) {
	if _, err := capture.NewWriter(&diskFull{}); !errors.Is(err, errDiskFull) {
		t.Errorf("NewWriter on a full disk: %v", err)
	}
	for _, room := range []int{500, 100_000, 300_001} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			ci, cr := tcpPair(t, side{}, side{})
			cp := newCapture(t, &diskFull{room})
			startCapture(t, cp, ci, cr)
			f := newTraffic(t, ci, cr)
			f.pass(8)
			f.finish()
			extsock.StopCapture(ci)
			if _, err := cp.Start(ci); !errors.Is(err, errDiskFull) {
				t.Errorf("Start after the disk was full: %v", err)
			}
			for range 2 {
				if err := cp.Flush(); !errors.Is(err, errDiskFull) {
					t.Errorf("Flush: %v", err)
				}
				if err := cp.Close(); !errors.Is(err, errDiskFull) {
					t.Errorf("Close: %v", err)
				}
			}
		})
	}
}

func TestCaptureStartErrors(t *testing.T) {
	ci, cr := tcpPair(t, side{}, side{})
	cp := newCapture(t, io.Discard)
	startCapture(t, cp, ci)
	_, err := cp.Start(ci)
	if op := (*net.OpError)(nil); !errors.Is(err, extsock.ErrBusy) || !errors.As(err, &op) {
		t.Errorf("the second Start: %v, want ErrBusy in a *net.OpError", err)
	}
	extsock.StopCapture(ci)
	extsock.StopCapture(ci)
	startCapture(t, cp, ci)
	if err := cp.Close(); err != nil {
		t.Error(err)
	}
	if _, err := cp.Start(cr); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Start in a closed Writer: %v", err)
	}
	cr.Close()
	if _, err := newCapture(t, io.Discard).Start(cr); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Start with a closed connection: %v", err)
	}
	plain, _ := net.Pipe()
	c := extsock.NewConn(plain, true, &extsock.Config{Tap: newCapture(t, io.Discard).Tap})
	if _, err := newCapture(t, io.Discard).Start(c); !errors.Is(err, extsock.ErrBusy) {
		t.Errorf("Start besides Writer.Tap: %v", err)
	}
	c.Close()
}

// TestCaptureAfterCapture: when a Writer is closed, or its file is full, another one can record the
// connections that the first one has recorded, however that recording began. The stop of the first
// recording does not end the second.
func TestCaptureAfterCapture(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, first *capture.Writer){
		"closed": func(t *testing.T, first *capture.Writer) {
			if err := first.Close(); err != nil {
				t.Error(err)
			}
		},
		"full": func(t *testing.T, first *capture.Writer) {
			if err := first.Flush(); !errors.Is(err, errDiskFull) {
				t.Errorf("Flush: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			room := 1 << 20
			if name == "full" {
				room = 500
			}
			first := newCapture(t, &diskFull{room})
			ci, cr := tcpPair(t, side{cfg: extsock.Config{Tap: first.Tap}}, side{})
			bounded(t, ci, cr)
			stop, err := first.Start(cr)
			if err != nil {
				t.Fatal(err)
			}
			end(t, first)
			var file bytes.Buffer
			second := newCapture(t, &file)
			startCapture(t, second, ci, cr)
			stop()
			for _, c := range []*extsock.Conn{ci, cr} {
				if _, err := second.Start(c); !errors.Is(err, extsock.ErrBusy) {
					t.Errorf("Start besides the second capture: %v", err)
				}
			}
			if _, err := ci.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(cr, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
			if n := bytes.Count(file.Bytes(), []byte("hello")); n != 2 {
				t.Errorf("the message is in the second capture %d times, want once for each end", n)
			}
		})
	}
}

// TestCaptureOfAFault: an FPDU with a bad CRC, the bytes behind it, and an FPDU that never becomes
// complete are in the capture, each once. So are the bytes behind an FPDU that DDP refuses.
func TestCaptureOfAFault(t *testing.T) {
	bad := []byte{0, 14, 0xC1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}
	batch, tx := mpa.NewBatch(512<<10), mpa.NewSender(mpa.Agreement{CRC: true})
	write := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: 1}.AppendTo(nil) // of nowhere
	for range 3 {
		tx.Append(batch, true, write, []byte{1, 2, 3, 4})
	}
	const cut = "inside an FPDU, 7 bytes"
	const terminate = 1 // FPDU that goes back once the fence is open
	for _, tt := range []struct {
		desc string
		tail []byte // what comes last
		want map[string]int
	}{
		{"bad CRC", bad, map[string]int{dissect.CRCBad: 1}},
		{"two bad CRCs", slices.Concat(bad, bad), map[string]int{dissect.CRCBad: 2}},
		{"refused, with two behind it", slices.Concat(batch.Bufs()...), map[string]int{dissect.CRCGood: 3 + terminate}},
		{"cut off", []byte{0, 200, 0xC1, 0x40, 1, 2, 3}, map[string]int{cut: 1}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var file bytes.Buffer
				cp := newCapture(t, &file)
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				c := extsock.NewConn(b, false, nil)
				done := make(chan error, 1)
				go func() { done <- c.EnableDDP(context.Background(), nil) }()
				if _, err := a.Write([]byte("MPA ID Req Frame\x40\x01\x00\x00")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(a, make([]byte, 20)); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				startCapture(t, cp, c)
				if _, err := a.Write(tt.tail); err != nil {
					t.Fatal(err)
				}
				a.CloseWrite()
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("Read has no error")
				}
				c.Close()
				a.Close()
				settle()
				if err := cp.Close(); err != nil {
					t.Fatal(err)
				}
				text := ""
				if err := dissect.Read(bytes.NewReader(file.Bytes()), func(r dissect.Record) error {
					text += r.CRC + " " + r.Error + "\n"
					return nil
				}); err != nil {
					t.Error(err)
				}
				for _, fault := range []string{dissect.CRCBad, dissect.CRCGood, cut} {
					if n := strings.Count(text, fault); n != tt.want[fault] {
						t.Errorf("the capture tells %d times of %q, want %d: %q", n, fault, tt.want[fault], text)
					}
				}
			})
		})
	}
}

// TestCaptureTimes: the times in a capture are those of the machine's clock.
func TestCaptureTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
		var file bytes.Buffer
		cp := newCapture(t, &file)
		startCapture(t, cp, ci)
		var want []time.Time
		for n := range 3 {
			time.Sleep(time.Second + time.Duration(n))
			want = append(want, time.Now())
			if _, err := ci.Write([]byte("tick")); err != nil {
				t.Fatal(err)
			}
		}
		ci.Close()
		cr.Close()
		settle()
		if err := cp.Close(); err != nil {
			t.Fatal(err)
		}
		for _, r := range decode(t, file.Bytes(), true).records {
			if r.Op == "send" && len(want) > 0 {
				if !r.Time.Equal(want[0]) {
					t.Errorf("a Send at %v, want %v", r.Time, want[0])
				}
				want = want[1:]
			}
		}
		if len(want) > 0 {
			t.Errorf("%d Sends are missing", len(want))
		}
	})
}

// TestCaptureIsSwitchedByMany starts and stops captures in several goroutines while the connection
// is opened, used and closed.
func TestCaptureIsSwitchedByMany(t *testing.T) {
	var file bytes.Buffer
	cp := newCapture(t, &file)
	a, b := kernelStreams(t)
	cfg := &extsock.Config{Tap: cp.Tap}
	ci, cr := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, c := range []*extsock.Conn{ci, ci, cr} {
		wg.Go(func() {
			for !stop.Load() {
				extsock.StopCapture(c)
				if _, err := cp.Start(c); err != nil && !errors.Is(err, extsock.ErrBusy) && !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				if err := cp.Flush(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := switchBoth(timeLimit(t), ci, cr); err != nil {
		t.Fatal(err)
	}
	f := newTraffic(t, ci, cr)
	f.pass(3)
	f.finish()
	ci.Close()
	cr.Close()
	stop.Store(true)
	wg.Wait()
	if err := cp.Close(); err != nil {
		t.Error(err)
	}
	got := decodeWithErrors(t, file.Bytes(), true)
	if got.starts < 2 {
		t.Errorf("the capture has %d connections", got.starts)
	}
	for _, r := range got.errors { // a capture may have been stopped between Request and Reply
		if !strings.HasSuffix(r.Error, "without an MPA Reply") {
			t.Errorf("record: %v", r)
		}
	}
}

// TestCaptureOfWrites captures one-sided operations of a connection without addresses.
func TestCaptureOfWrites(t *testing.T) {
	a, b := unixStreams(t)
	ci, cr := switched(t, a, b, side{}, side{})
	var file bytes.Buffer
	cp := newCapture(t, &file)
	startCapture(t, cp, ci)
	data := pattern(300_000, 7)
	m := ci.Remote(register(t, cr, make([]byte, len(data)), everyAccess).Handle())
	if _, err := m.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(make([]byte, len(data)), 0); err != nil {
		t.Fatal(err)
	}
	extsock.StopCapture(ci)
	if err := cp.Close(); err != nil {
		t.Fatal(err)
	}
	got := decode(t, file.Bytes(), true)
	if len(got.records) == 0 || !bytes.Equal(got.writes[got.records[0].Src.String()], data) {
		t.Errorf("the RDMA Writes are not those that were sent: %d records", len(got.records))
	}
	read := 0
	for _, r := range got.records {
		if r.FPDU != nil && r.Op == "rdma-read-response" {
			read += r.PayloadLen
		}
	}
	if read != len(data) {
		t.Errorf("%d octets of Read Responses, want %d", read, len(data))
	}
}
