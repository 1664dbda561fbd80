package dissect

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/mpa"
)

// These are the Writer's constants, as package pcapng defines them.
const (
	writeBuffer = 64 << 10
	maxSegment  = 32 << 10
	ackEvery    = 1 << 20
)

// tap is the interface through which a connection's owner uses a Flow.
type tap interface {
	Sent(p []byte)
	Received(p []byte)
	Closed()
}

var _ tap = (*pcapng.Flow)(nil)

func tcpAddr(s string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		panic(err)
	}
	return a
}

// bigWrite is an FPDU with a ULPDU of n octets.
func bigWrite(t testing.TB, n int) []byte {
	return markStream(0, false, append(unhex("c140 12345601 0000000000001000"), make([]byte, n-14)...))
}

func TestWriterRoundTrip(t *testing.T) {
	unix := &net.UnixAddr{Name: "/tmp/x", Net: "unix"}
	for _, tt := range []struct {
		desc          string
		local, remote net.Addr
		initiator     bool
		src, dst      string // of the Request
	}{
		{"IPv4, initiator", tcpAddr("10.1.2.3:4000"), tcpAddr("10.1.2.4:7174"), true, "10.1.2.3:4000", "10.1.2.4:7174"},
		{"IPv4, responder", tcpAddr("10.1.2.4:7174"), tcpAddr("10.1.2.3:4000"), false, "10.1.2.3:4000", "10.1.2.4:7174"},
		{"IPv6", tcpAddr("[2001:db8::7]:4000"), tcpAddr("[2001:db8::8]:7174"), true, "[2001:db8::7]:4000", "[2001:db8::8]:7174"},
		{"IPv4 in IPv6", tcpAddr("[::ffff:10.1.2.3]:4000"), tcpAddr("10.1.2.4:7174"), true, "10.1.2.3:4000", "10.1.2.4:7174"},
		{"IPv6 with a zone", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1, Zone: "eth0"}, tcpAddr("[fe80::2]:2"), true, "[fe80::1]:1", "[fe80::2]:2"},
		{"unix", unix, unix, true, "192.0.2.1:49153", "192.0.2.2:7174"},
		{"unix, responder", unix, unix, false, "192.0.2.2:49153", "192.0.2.1:7174"},
		{"no address", nil, nil, true, "192.0.2.1:49153", "192.0.2.2:7174"},
		{"one address", nil, tcpAddr("[2001:db8::8]:7174"), true, "[2001:db8::1]:49153", "[2001:db8::8]:7174"},
		{"the other address", tcpAddr("10.1.2.3:4000"), unix, true, "10.1.2.3:4000", "192.0.2.2:7174"},
		{"both the same", tcpAddr("10.1.2.3:4000"), tcpAddr("10.1.2.3:4000"), true, "192.0.2.1:49153", "192.0.2.2:7174"},
		{"two families", tcpAddr("10.1.2.3:4000"), tcpAddr("[2001:db8::8]:7174"), true, "10.1.2.3:4000", "192.0.2.2:7174"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var file bytes.Buffer
			w := newWriter(t, &file)
			f := w.Flow(tt.local, tt.remote, tt.initiator)
			request, reply := f.Sent, f.Received
			if !tt.initiator {
				request, reply = reply, request
			}
			request(unhex(helloRequest))
			reply(unhex(helloReply))
			request(append(unhex(sendHello), bigWrite(t, 64768)...))
			request(nil)
			reply(bytes.Repeat(bigWrite(t, 50000), 25)) // > 1 MiB
			f.Closed()
			f.Closed()
			f.Sent(unhex(sendHello)) // too late
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f.Received(unhex(sendHello))
			records := mustRead(t, file.Bytes())
			want := append([]string{"mpa-request", "mpa-reply", "send good", "rdma-write good"}, slices.Repeat([]string{"rdma-write good"}, 25)...)
			wantOps(t, records, want...)
			if len(records) > 0 && (records[0].Src.String() != tt.src || records[0].Dst.String() != tt.dst) {
				t.Errorf("Request from %v to %v, want from %s to %s", records[0].Src, records[0].Dst, tt.src, tt.dst)
			}
			checkPackets(t, file.Bytes(), tt.src)
		})
	}
}

// checkPackets follows the sequence numbers of a Writer's capture of one connection.
func checkPackets(t *testing.T, file []byte, client string) {
	t.Helper()
	next, acked := map[string]uint32{}, map[string]uint32{}
	var flags []string
	last := time.Time{}
	for i, p := range splitFile(t, file) {
		s, why := p.segment()
		if why != readable {
			t.Fatalf("packet %d has no TCP", i)
		}
		ack := judged(t, p).Ack
		if want := next[s.dst.String()]; s.ack && ack != want {
			t.Errorf("packet %d: acknowledges %d, want %d", i, ack, want)
		}
		acked[s.src.String()] = ack
		if open := s.seq + uint32(len(s.payload)) - acked[s.dst.String()]; len(s.payload) > 0 && open > ackEvery+maxSegment {
			t.Errorf("packet %d: %d bytes are not acknowledged", i, open)
		}
		if p.time.Before(last) {
			t.Errorf("packet %d: time runs backwards", i)
		}
		last = p.time
		if want, ok := next[s.src.String()]; ok && s.seq != want {
			t.Errorf("packet %d: sequence number %d, want %d", i, s.seq, want)
		}
		if len(p.data) > 64<<10 {
			t.Errorf("packet %d has %d bytes", i, len(p.data))
		}
		n := uint32(len(s.payload))
		if s.syn || s.fin {
			n++
		}
		next[s.src.String()] = s.seq + n
		who := "server"
		if s.src.String() == client {
			who = "client"
		}
		if s.syn || s.fin {
			flags = append(flags, fmt.Sprintf("%s syn %t ack %t fin %t", who, s.syn, s.ack, s.fin))
		}
	}
	if len(flags) != 4 || flags[0] != "client syn true ack false fin false" || flags[1] != "server syn true ack true fin false" ||
		!strings.HasSuffix(flags[2], "fin true") || !strings.HasSuffix(flags[3], "fin true") {
		t.Errorf("handshake and end are %q", flags)
	}
}

// TestWriterSameEnds opens several connections, one after the other, between the same two ends.
func TestWriterSameEnds(t *testing.T) {
	var file bytes.Buffer
	w := newWriter(t, &file)
	for range 3 {
		f := w.Flow(tcpAddr("10.1.2.3:4000"), tcpAddr("10.1.2.4:7174"), true)
		f.Sent(unhex(helloRequest))
		f.Received(unhex(helloReply))
		f.Sent(unhex(sendHello))
		f.Stop() // never closed
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	wantOps(t, mustRead(t, file.Bytes()), slices.Repeat([]string{"mpa-request", "mpa-reply", "send good"}, 3)...)
}

// TestWriterConcurrent uses both directions of several flows at the same time.
func TestWriterConcurrent(t *testing.T) {
	const flows, rounds = 5, 40
	var file bytes.Buffer
	w := newWriter(t, &file)
	var wg sync.WaitGroup
	for range flows {
		wg.Go(func() {
			f := w.Flow(nil, nil, true)
			f.Sent(unhex(helloRequest))
			f.Received(unhex(helloReply))
			var both sync.WaitGroup
			for _, direction := range []func([]byte){f.Sent, f.Received} {
				both.Go(func() {
					for range rounds {
						direction(bigWrite(t, 3000))
					}
				})
			}
			both.Wait()
			f.Closed()
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range mustRead(t, file.Bytes()) {
		kind := r.Kind
		if r.FPDU != nil {
			kind = r.Op + " " + r.CRC
		}
		count[kind+" "+r.Src.String()]++
	}
	good := 0
	for kind, n := range count {
		if strings.HasPrefix(kind, "rdma-write good") {
			good += n
		}
	}
	if good != flows*2*rounds {
		t.Errorf("%d good FPDUs, want %d", good, flows*2*rounds)
	}
}

// limitedWriter fails after n octets.
type limitedWriter struct {
	n   int
	err error
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.n {
		n := l.n
		l.n = 0
		return n, l.err
	}
	l.n -= len(p)
	return len(p), nil
}

func TestWriterReportsErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, n := range []int{0, 10} {
		if w, err := pcapng.NewWriter(&limitedWriter{n, full}); w != nil || !errors.Is(err, full) {
			t.Errorf("with room for %d bytes, NewWriter = %v, %v; want %v", n, w, err, full)
		}
	}
	for _, n := range []int{200, 1000, 100_000} {
		w := newWriter(t, &limitedWriter{n, full})
		f := w.Flow(nil, nil, true)
		f.Sent(make([]byte, 200_000))
		f.Received(make([]byte, 100))
		f.Closed()
		for range 2 {
			if err := w.Close(); !errors.Is(err, full) {
				t.Errorf("with room for %d bytes, Close() = %v, want %v", n, err, full)
			}
		}
	}
}

// TestWriterKeepsFlowsApart: the two ends of one connection, and the same connection again, can be
// told apart.
func TestWriterKeepsFlowsApart(t *testing.T) {
	var file bytes.Buffer
	w := newWriter(t, &file)
	a, b := tcpAddr("10.1.2.3:4000"), tcpAddr("10.1.2.4:7174")
	for _, f := range []*pcapng.Flow{w.Flow(a, b, true), w.Flow(b, a, false), w.Flow(a, b, true)} {
		f.Sent(unhex(helloRequest))
		f.Received(unhex(helloReply))
		f.Stop()
		f.Sent(unhex(sendHello)) // too late
	}
	if err := w.Flush(); err != nil || w.Err() != nil {
		t.Errorf("Flush() = %v, Err() = %v", err, w.Err())
	}
	var got []string
	for _, r := range mustRead(t, file.Bytes()) { // the flushed octets are a whole file
		got = append(got, fmt.Sprintf("%s %v %v", r.Kind, r.Src, r.Dst))
	}
	diff(t, "records", got, []string{
		"mpa-request 10.1.2.3:4000 10.1.2.4:7174", "mpa-reply 10.1.2.4:7174 10.1.2.3:4000",
		"mpa-request 10.1.2.4:7174 10.1.2.3:49154", "mpa-reply 10.1.2.3:49154 10.1.2.4:7174",
		"mpa-request 10.1.2.3:49155 10.1.2.4:7174", "mpa-reply 10.1.2.4:7174 10.1.2.3:49155",
	})
	if err := w.Close(); err != nil || !errors.Is(w.Err(), os.ErrClosed) {
		t.Errorf("Close() = %v, then Err() = %v", err, w.Err())
	}
}

// TestFiller: wherever decoding of a stream with markers starts, it finds the markers.
func TestFiller(t *testing.T) {
	for off := uint64(8); off < 1024; off += 4 {
		if off%512 == 0 || off%512 == 4 { // no filler is needed; no FPDU begins there
			continue
		}
		b := pcapng.Filler(off)
		f := framer{markers: true}
		p, ok := f.next(b)
		if !ok || p.size != len(b) || !p.crcGood || p.fault != "" || f.off%512 != off%512 {
			t.Fatalf("to %d: %d bytes, %+v", off, len(b), p)
		}
	}
}

// TestWriterBuffersLittle: all recorded octets except at most 64 KiB are in the file, and all of
// them once a Flow is closed.
func TestWriterBuffersLittle(t *testing.T) {
	var file bytes.Buffer
	w := newWriter(t, &file)
	f := w.Flow(nil, nil, true)
	f.Sent(make([]byte, 10<<20))
	if waiting := 10<<20 - file.Len(); waiting > writeBuffer {
		t.Errorf("%d bytes wait, want at most %d", waiting, writeBuffer)
	}
	f.Received(unhex(helloReply))
	f.Closed()
	n := file.Len()
	if err := w.Close(); err != nil || file.Len() != n {
		t.Errorf("Close() = %v and wrote %d bytes that Closed had left", err, file.Len()-n)
	}
}

// TestPacketsBeginWithAnFPDU: a packet begins with an FPDU, unless it continues one that is longer
// than a packet. So no packet ends with the first few octets of an FPDU, which Wireshark would
// lose.
func TestPacketsBeginWithAnFPDU(t *testing.T) {
	var file bytes.Buffer
	w, err := pcapng.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	local, remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 2}
	f := w.Flow(local, remote, true)
	rng := rand.New(rand.NewPCG(1, 2))
	tx, batch := mpa.NewSender(mpa.Agreement{CRC: true}), mpa.NewBatch(1<<20)
	begins := map[int]int{} // where FPDUs begin, and their lengths
	var all []byte
	for range 300 {
		n := 14 + rng.IntN(2000)
		if rng.IntN(4) == 0 {
			n = 14 + rng.IntN(60_000)
		}
		tx.Append(batch, true, make([]byte, n))
		begins[len(all)] = int(tx.Off()) - len(all)
		all = append(all, slices.Concat(batch.Bufs()...)...)
		batch.Reset()
	}
	f.SentFPDUs([][]byte{all[:100_000], all[100_000:]}, 0, false)
	f.Closed()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at, begin := 0, 0 // begin: of the FPDU at the beginning of the packet
	for i, p := range splitFile(t, file.Bytes()) {
		s, why := p.segment()
		if why != readable || len(s.payload) == 0 {
			continue
		}
		if begins[at] > 0 {
			begin = at
		} else if end := begin + begins[begin]; begins[begin] <= maxSegment || at+len(s.payload) > end {
			t.Fatalf("packet %d has bytes %d to %d, inside the FPDU from %d to %d and beyond", i, at, at+len(s.payload), begin, end)
		}
		at += len(s.payload)
	}
	if at != len(all) {
		t.Errorf("%d bytes recorded, want %d", at, len(all))
	}
}
