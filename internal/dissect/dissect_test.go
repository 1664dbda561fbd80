package dissect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
)

func TestReadScript(t *testing.T) {
	for _, tt := range []struct {
		desc string
		play func(s *script)
		want []string
	}{
		{"startup, one FPDU each way", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, sendHello)
			s.send(1, terminateBadSTag)
			s.fin(0)
			s.fin(1)
		}, []string{"mpa-request", "mpa-reply", "send good", "terminate good"}},
		{"single bytes", func(s *script) {
			for _, b := range unhex(helloRequest) {
				s.sendOctets(0, []byte{b})
			}
			s.send(1, helloReply)
			for _, b := range unhex(sendHello + writeEight) {
				s.sendOctets(0, []byte{b})
			}
		}, []string{"mpa-request", "mpa-reply", "send good", "rdma-write good"}},
		{"FPDUs in the segments of the startup frames", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply+writeEight)
			s.send(0, sendHello+writeEight)
		}, []string{"mpa-request", "mpa-reply", "rdma-write good", "send good", "rdma-write good"}},
		{"plain TCP before the startup", func(s *script) {
			s.sendOctets(0, []byte("STARTRDMA MPA ID\r\n"))
			s.sendOctets(1, []byte("GO MPA ID Rep\r\n"))
			s.sendOctets(0, append([]byte("more"), unhex(helloRequest)...))
			s.send(1, helloReply)
			s.send(0, sendHello)
		}, []string{"mpa-request", "mpa-reply", "send good"}},
		{"no CRC", func(s *script) {
			s.send(0, helloRequestNoCRC)
			s.send(1, helloReplyNoCRC)
			s.send(0, sendHello)
			s.send(0, strings.Replace(sendHello, "b990b10c", "00000000", 1))
		}, []string{"mpa-request", "mpa-reply", "send off", "send off"}},
		{"one side is enough for CRC", func(s *script) {
			s.send(0, helloRequestNoCRC)
			s.send(1, helloReply)
			s.send(0, sendHello)
			s.send(0, strings.Replace(sendHello, "b990b10c", "00000000", 1))
		}, []string{"mpa-request", "mpa-reply", "send good", "send bad"}},
		{"the other side is enough, too", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReplyNoCRC)
			s.send(1, sendHello)
		}, []string{"mpa-request", "mpa-reply", "send good"}},
		{"rejected, then plain TCP, then accepted", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReplyRejects)
			s.sendOctets(0, []byte("what now"))
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, writeEight)
		}, []string{"mpa-request", "mpa-reply", "mpa-request", "mpa-reply", "rdma-write good"}},
		{"the Reply comes late in the capture", func(s *script) {
			s.send(0, helloRequest)
			s.send(0, sendHello)
			s.send(1, helloReply)
		}, []string{"mpa-request", "mpa-reply", "send good"}},
		{"unusable Request", func(s *script) {
			s.send(0, "4d50412049442052 6571204672616d65 4009 0000")
			s.fin(1)
		}, []string{"error"}},
		{"half a Request", func(s *script) {
			s.send(0, helloRequest[:38])
			s.fin(0)
			s.fin(1)
		}, []string{"error"}},
		{"no Reply", func(s *script) {
			s.send(0, helloRequest)
			s.fin(1)
			s.fin(0)
		}, []string{"mpa-request", "error"}},
		{"no Request", func(s *script) {
			s.seq[0] += 20
			s.send(1, helloReply)
			s.send(0, sendHello)
		}, []string{"error", "mpa-reply", "send good"}},
		{"no Request, behind plain TCP", func(s *script) {
			s.sendOctets(0, []byte("STARTRDMA MPA ID\r\n"))
			s.seq[0] += 20
			s.send(1, helloReply)
			s.send(0, sendHello)
		}, []string{"error", "mpa-reply", "send good"}},
		{"each end rejects the other one, in two segments", func(s *script) {
			s.send(0, helloRequest+helloReplyRejects)
			s.send(1, helloReplyRejects[:16])
			s.send(1, helloReplyRejects[16:])
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, sendHello)
		}, []string{"mpa-request", "mpa-reply", "error", "mpa-reply", "mpa-request", "mpa-reply", "send good"}},
		{"ends inside an FPDU", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, sendHello[:14])
			s.fin(0)
			s.fin(1)
		}, []string{"mpa-request", "mpa-reply", "error"}},
		{"reset inside an FPDU", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, sendHello[:14])
			s.add(1, s.seq[1], "R", nil)
			s.send(0, sendHello[14:]) // ignored
		}, []string{"mpa-request", "mpa-reply", "error"}},
		{"a gap, the other direction goes on", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.seq[0] += 100
			s.send(0, sendHello)
			s.send(1, writeEight)
			s.fin(0)
			s.send(1, writeEight)
			s.fin(1)
		}, []string{"mpa-request", "mpa-reply", "rdma-write good", "rdma-write good", "error"}},
		{"a gap before the startup", func(s *script) {
			s.sendOctets(0, []byte("hello"))
			s.seq[0] += 100
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, sendHello)
		}, []string{"mpa-request", "mpa-reply", "send good"}},
		{"the FIN tells of a gap", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.seq[0] += 100
			s.fin(0)
			s.fin(1)
		}, []string{"mpa-request", "mpa-reply", "error"}},
		{"ports used again", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.seq = [2]uint32{70000, 80000}
			s.add(0, s.seq[0], "S", nil)
			s.add(0, s.seq[0], "S", nil) // a retransmission
			s.add(1, s.seq[1], "SA", nil)
			s.seq = [2]uint32{70001, 80001}
			s.send(0, helloRequestNoCRC)
			s.send(1, helloReplyNoCRC)
			s.send(0, sendHello)
		}, []string{"mpa-request", "mpa-reply", "mpa-request", "mpa-reply", "send off"}},
		{"a new connection after one without its beginning", func(s *script) {
			s.packets = nil
			s.send(0, sendHello)
			s.seq = [2]uint32{70000, 80000}
			s.add(0, s.seq[0], "S", nil)
			s.add(1, s.seq[1], "SA", nil)
			s.seq = [2]uint32{70001, 80001}
			s.send(0, helloRequestNoCRC)
			s.send(1, helloReplyNoCRC)
			s.send(0, sendHello)
		}, []string{"error", "send good", "mpa-request", "mpa-reply", "send off"}},
		{"too much before the Reply", func(s *script) {
			s.send(0, helloRequest)
			for range maxBeforeReply/50_000 + 1 {
				s.sendOctets(0, make([]byte, 50_000))
			}
			s.send(1, helloReply)
			s.send(0, sendHello) // given up
			s.send(1, writeEight)
		}, []string{"mpa-request", "error", "mpa-reply", "rdma-write good"}},
		{"bad CRCs, but not in a row", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			for range 2 {
				for range maxBadInARow - 1 {
					s.send(0, strings.Replace(sendHello, "b990b10c", "00000000", 1))
				}
				s.send(0, sendHello)
			}
		}, append([]string{"mpa-request", "mpa-reply"}, slices.Repeat(
			append(slices.Repeat([]string{"send bad"}, maxBadInARow-1), "send good"), 2)...)},
		{"a row of bad CRCs", func(s *script) {
			s.send(0, helloRequest)
			s.send(1, helloReply)
			for range maxBadInARow + 3 {
				s.send(0, strings.Replace(sendHello, "b990b10c", "00000000", 1))
			}
		}, append(append([]string{"mpa-request", "mpa-reply"}, slices.Repeat([]string{"send bad"}, maxBadInARow)...), "error")},
		{"another protocol", func(s *script) {
			s.sendOctets(0, []byte("GET / HTTP/1.1\r\n\r\n"))
			s.sendOctets(1, []byte("HTTP/1.1 200 OK\r\n\r\n"))
			s.fin(0)
			s.fin(1)
		}, []string{"summary"}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			s := newScript(t)
			tt.play(s)
			wantOps(t, s.read(), tt.want...)
		})
	}
}

// TestReadMarkers: each of the two M bits concerns one direction.
func TestReadMarkers(t *testing.T) {
	s := newScript(t)
	s.send(0, helloRequest)
	s.send(1, helloReplyMarkers) // only the server wants markers, in the client's direction
	stream := markStream(0, true, unhex(sendHelloULPDU), append(unhex(sendHelloULPDU), make([]byte, 1400)...), unhex(sendHelloULPDU))
	s.sendOctets(0, stream)
	s.send(1, writeEight)
	records := s.read()
	wantOps(t, records, "mpa-request", "mpa-reply", "send good", "send good", "send good", "rdma-write good")
	var markers []int
	for _, r := range records[2:] {
		markers = append(markers, r.Markers)
	}
	if want := []int{1, 2, 0, 0}; !slices.Equal(markers, want) {
		t.Errorf("markers = %v, want %v", markers, want)
	}
}

// TestReadAnyPackets sends the octets that siw sent in other packets: cut differently, out of
// order, repeated.
func TestReadAnyPackets(t *testing.T) {
	random := prototest.Seeded(t)
	for _, name := range captures(t) {
		file := load(t, name)
		want := lines(t, mustRead(t, file))
		packets := splitFile(t, file)
		for i := 0; i+1 < len(packets); i++ {
			switch random.IntN(6) {
			case 0: // a neighbor from the same sender comes first; the order of SYN and data matters
				a, b := sender(t, packets[i]), sender(t, packets[i+1])
				if a.src == b.src && a.dst == b.dst && !a.syn {
					packets[i].data, packets[i+1].data = packets[i+1].data, packets[i].data
				}
			case 1: // again
				packets = slices.Insert(packets, i+1, packets[i])
				i++
			}
		}
		diff(t, name, lines(t, mustRead(t, joinFile(t, packets))), want)
	}
}

func sender(t *testing.T, p packet) segment {
	t.Helper()
	s, why := p.segment()
	if why != readable {
		t.Fatal("a packet without TCP")
	}
	return s
}

// TestReadTwoFlows interleaves the packets of captures of different connections.
func TestReadTwoFlows(t *testing.T) {
	names := captures(t)
	for i := range len(names) - 1 {
		files := [2][]byte{load(t, names[i]), load(t, names[i+1])}
		packets := [2][]packet{splitFile(t, files[0]), splitFile(t, files[1])}
		var both []packet
		for k := range max(len(packets[0]), len(packets[1])) {
			for _, side := range packets {
				if k < len(side) {
					both = append(both, side[k])
				}
			}
		}
		got := lines(t, mustRead(t, joinFile(t, both)))
		want := append(lines(t, mustRead(t, files[0])), lines(t, mustRead(t, files[1]))...)
		slices.Sort(got)
		slices.Sort(want)
		diff(t, names[i], got, want)
	}
}

// TestReadMissingBeginning leaves out the handshake and the startup.
func TestReadMissingBeginning(t *testing.T) {
	for _, name := range captures(t) {
		file := load(t, name)
		all := mustRead(t, file)
		var fpdus []Record
		ends := map[string]bool{}
		for _, r := range all {
			if r.Kind == KindFPDU {
				fpdus = append(fpdus, r)
			}
			ends[r.Src.String()] = true
		}
		if len(ends) != 2 || strings.Contains(name, "65536-nocrc") {
			continue // several connections: the packets to leave out are not the first; large FPDUs: not whole in a segment
		}
		t.Run(name, func(t *testing.T) {
			packets := splitFile(t, file)
			for i, p := range packets {
				if s := sender(t, p); len(s.payload) > 0 && !bytes.HasPrefix(s.payload, []byte("MPA ID Re")) {
					packets = packets[i:]
					break
				}
			}
			if len(fpdus) == 0 {
				return
			}
			got := mustRead(t, joinFile(t, packets))
			if len(got) == 0 || got[0].Kind != KindError || !strings.Contains(got[0].Error, "does not have the beginning") {
				t.Fatalf("first record = %v, want the note", got)
			}
			diff(t, name, lines(t, got[1:]), lines(t, fpdus))
		})
	}
}

// TestReadCutPackets: a capture with short packets says so.
func TestReadCutPackets(t *testing.T) {
	packets := splitFile(t, load(t, captureDir+"/peer-4096-v1-crc.pcap"))
	for i := range packets {
		if len(packets[i].data) > 200 {
			packets[i].data, packets[i].cut = packets[i].data[:200], true
		}
	}
	records := mustRead(t, joinFile(t, packets))
	n := 0
	for _, r := range records {
		if r.Kind == KindError && strings.Contains(r.Error, "captured only in part") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d notes about packets captured in part, want one for each direction", n)
	}
}

func TestReadReturnsErrorOfEmit(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	err := Read(bytes.NewReader(load(t, captures(t)[0])), func(Record) error {
		n++
		return stop
	})
	if err != stop || n != 1 { //nolint:errorlint // the very error is promised
		t.Errorf("Read = %v after %d records, want %v after 1", err, n, stop)
	}
}

// TestReadTruncatedFile cuts each capture at many places and expects an error after the records
// before the cut.
func TestReadTruncatedFile(t *testing.T) {
	for _, name := range captures(t) {
		file := load(t, name)
		want := lines(t, mustRead(t, file))
		boundary := map[int]bool{24: true}
		at := 24
		for _, p := range splitFile(t, file) {
			at += 16 + len(p.data)
			boundary[at] = true
		}
		step := max(1, len(file)/testmode.Rounds(60, 15))
		for n := 0; n < len(file); n += step {
			records, err := readAll(file[:n])
			var fe *FileError
			switch {
			case boundary[n]:
				if err != nil {
					t.Errorf("%s: the first %d bytes, whole packets: %v", name, n, err)
				}
			case n < 4:
				if !errors.As(err, &fe) || !errors.Is(err, ErrNotCapture) {
					t.Errorf("%s: the first %d bytes: error %v, want ErrNotCapture", name, n, err)
				}
			case !errors.As(err, &fe) || !errors.Is(err, ErrTruncated):
				t.Errorf("%s: the first %d bytes: error %v, want ErrTruncated", name, n, err)
			}
			var good []Record
			for _, r := range records {
				if r.Kind != KindError && r.Kind != KindSummary {
					good = append(good, r)
				}
			}
			if got := lines(t, good); !slices.Equal(got, want[:len(got)]) {
				t.Errorf("%s: the first %d bytes give other records than the whole", name, n)
			}
		}
	}
}

// TestReadManyConnections exceeds the number of connections that are remembered.
func TestReadManyConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 66000 packets")
	}
	s := newScript(t)
	s.send(0, helloRequest)
	s.send(1, helloReply)
	template := s.packets[0]
	for i := range maxConnections + 500 {
		p := template
		p.data = bytes.Clone(p.data)
		p.data[14+12+1], p.data[14+12+2] = byte(i>>16)+20, byte(i>>8) // source address
		p.data[14+12+3] = byte(i)
		s.packets = append(s.packets, p)
	}
	s.send(0, sendHello)
	wantOps(t, s.read(), "mpa-request", "mpa-reply", "send good")
}

// fill makes d remember n connections, all with a Request or all without one, and returns them.
func fill(t *testing.T, d *dissector, n int, request bool) (all []*connection) {
	t.Helper()
	for i := range n {
		c, _ := d.connection(segmentFrom(uint32(d.opened)), time.Time{})
		if c == nil {
			t.Fatalf("connection %d is not remembered", i)
		}
		if request {
			c.begin(&mpa.Frame{})
		}
		all = append(all, c)
	}
	return all
}

// segmentFrom returns the first segment of a client whose address has a number.
func segmentFrom(number uint32) segment {
	a := netip.AddrFrom4([4]byte{10 + byte(number>>24), byte(number >> 16), byte(number >> 8), byte(number)})
	return segment{src: netip.AddrPortFrom(a, clientPort), dst: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), serverPort), syn: true}
}

// TestForget: only connections that have ended, or have shown no MPA frame, make room for another
// one.
func TestForget(t *testing.T) {
	d := &dissector{emit: func(Record) error { return nil }, connections: map[pair]*connection{}}
	live := fill(t, d, maxConnections-4, true)
	idle := fill(t, d, 3, false)
	over := fill(t, d, 1, true)
	over[0].finish("the connection ends")
	live[7].finish("the connection ends")
	again := segmentFrom(7)
	again.seq = 1
	live[7], _ = d.connection(again, time.Time{}) // the same two ends, so the one before makes no room
	live[7].begin(&mpa.Frame{})
	live = append(live, fill(t, d, 4, true)...)
	if c, _ := d.connection(segmentFrom(uint32(d.opened)), time.Time{}); c != nil || !d.overflowed {
		t.Error("a connection is remembered although there is no room")
	}
	for _, c := range append(idle, over...) {
		if d.connections[c.key] == c {
			t.Errorf("connection %d is still remembered", c.number)
		}
	}
	for _, c := range live {
		if d.connections[c.key] != c {
			t.Errorf("connection %d has been forgotten", c.number)
		}
	}
	if len(d.connections) != maxConnections || len(d.spare) != 0 {
		t.Errorf("%d connections, %d of them spare", len(d.connections), len(d.spare))
	}
}

// TestReadGapFillsMemory sends so much after a gap that the direction is given up.
func TestReadGapFillsMemory(t *testing.T) {
	s := newScript(t)
	s.send(0, helloRequest)
	s.send(1, helloReply)
	s.seq[0] += 100
	for range maxWaiting/60000 + 1 {
		s.sendOctets(0, make([]byte, 60000))
	}
	s.send(1, writeEight)
	records := s.read()
	wantOps(t, records, "mpa-request", "mpa-reply", "error", "rdma-write good")
	if want := "the capture does not have 100 bytes of this direction"; len(records) > 2 && !strings.Contains(records[2].Error, want) {
		t.Errorf("error = %q, want %q in it", records[2].Error, want)
	}
}

// TestConnectionBudget: when all connections together hold too much, the one that needs more is
// given up.
func TestConnectionBudget(t *testing.T) {
	var records []Record
	d := &dissector{emit: func(r Record) error { records = append(records, r); return nil }, waiting: maxWaitingAll - 100}
	c := &connection{d: d}
	c.halves[0].phase = framing
	c.feed(0, bigWrite(t, 1000)[:100])
	if len(records) != 0 || d.waiting != maxWaitingAll {
		t.Fatalf("%v, %d bytes wait", records, d.waiting)
	}
	c.feed(0, []byte{0})
	if len(records) != 1 || records[0].Kind != KindError || c.halves[0].phase != lost || d.waiting != maxWaitingAll-100 {
		t.Errorf("%v, phase %d, %d bytes wait; want an error, and the bytes gone", records, c.halves[0].phase, d.waiting)
	}
}

// failingReader fails after some octets.
type failingReader struct {
	r   io.Reader
	err error
}

func (f failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

func TestReadReturnsErrorOfReader(t *testing.T) {
	failure := fmt.Errorf("disk on fire")
	file := load(t, captures(t)[0])
	for _, n := range []int{0, 3, 20, 24, 30, len(file)} {
		err := Read(failingReader{bytes.NewReader(file[:n]), failure}, func(Record) error { return nil })
		var fe *FileError
		if !errors.Is(err, failure) || !errors.As(err, &fe) {
			t.Errorf("after %d bytes: %v, want a *FileError with %v", n, err, failure)
		}
	}
}
