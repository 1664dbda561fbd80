package badlink_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/badlink"
)

// A stream reassembles the payload of TCP segments, which must not overlap.
type stream struct {
	start uint32
	bytes []byte // indexed by the offset from start
	came  []bool
	n     int    // bytes that have arrived
	end   uint32 // offset of FIN
}

func (s *stream) add(t testing.TB, packet []byte) {
	t.Helper()
	tcp := decode(t, packet)
	off := int(tcp.Seq - s.start)
	for i, c := range tcp.Payload {
		if s.came[off+i] {
			t.Fatalf("byte %d of the stream came twice", off+i)
		}
		s.came[off+i], s.bytes[off+i] = true, c
	}
	s.n += len(tcp.Payload)
	if tcp.FIN {
		s.end = uint32(off + len(tcp.Payload))
	}
}

// TestResegment: after any cuts and merges, the segments have right headers and form the same
// stream of bytes.
func TestResegment(t *testing.T) {
	for desc, f := range flows() {
		for _, faults := range []badlink.Faults{
			{Split: 1}, {Merge: 1}, {Split: 1, Merge: 1}, {Split: 0.5, Merge: 0.5}, {Split: 0.3, Merge: 0.7, Reorder: 0.2},
		} {
			t.Run(fmt.Sprintf("%s/%v/%v/%v", desc, faults.Split, faults.Merge, faults.Reorder), func(t *testing.T) {
				r := prototest.Seeded(t)
				const n = 300
				faults.Queue, faults.Hold = 10*n, endless
				a, b := pipe(t, badlink.Config{Seed: r.Uint64(), AB: faults})
				s := stream{start: f.next, bytes: make([]byte, n*1400), came: make([]bool, n*1400)}
				var want []byte
				for i := range n {
					payload := make([]byte, r.IntN(1400))
					for j := range payload {
						payload[j] = byte(r.Uint32())
					}
					want = append(want, payload...)
					a.Write(f.segment(t, payload, func(tcp *layers.TCP) {
						tcp.PSH = r.IntN(4) == 0
						tcp.FIN = i == n-1
					}))
				}
				stats := a.Stats()
				a.Close() // sends what waits
				for range stats.Waiting {
					p := make([]byte, 1500)
					m, err := b.Read(p)
					if err != nil {
						t.Fatal(err)
					}
					s.add(t, p[:m])
				}
				if s.n != len(want) || int(s.end) != len(want) || !bytes.Equal(s.bytes[:s.n], want) {
					t.Errorf("%d bytes arrived, with FIN behind byte %d, want %d bytes, or they differ", s.n, s.end, len(want))
				}
				balance(t, stats)
				if (stats.Split > 0) != (faults.Split > 0) || (stats.Merged > 0) != (faults.Merge > 0) || stats.Pieces > 4*stats.Split {
					t.Errorf("%+v", stats)
				}
				t.Logf("%d packets: %d cut in %d, %d merged", stats.In, stats.Split, stats.Pieces, stats.Merged)
			})
		}
	}
}

// TestSplitHeaders: the flags and the numbers of pieces are those of TCP segmentation offload.
func TestSplitHeaders(t *testing.T) {
	for desc, f := range flows() {
		t.Run(desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{Seed: 2, AB: badlink.Faults{Split: 1}})
			start, payload := f.next, bytes.Repeat([]byte("payload"), 100)
			whole := f.segment(t, payload, func(tcp *layers.TCP) { tcp.FIN, tcp.PSH, tcp.CWR, tcp.ECE = true, true, true, true })
			a.Write(whole)
			got := drain(t, a, b)
			if len(got) < 2 || len(got) > 4 {
				t.Fatalf("%d pieces", len(got))
			}
			var all []byte
			for i, p := range got {
				tcp := decode(t, p)
				first, last := i == 0, i == len(got)-1
				if tcp.Seq != start+uint32(len(all)) || tcp.FIN != last || tcp.PSH != last || tcp.CWR != first || !tcp.ECE || !tcp.ACK {
					t.Errorf("piece %d has sequence number %d and FIN %v, PSH %v, CWR %v, ECE %v", i, tcp.Seq, tcp.FIN, tcp.PSH, tcp.CWR, tcp.ECE)
				}
				if len(tcp.Options) != len(f.options) || tcp.Ack != 77 || tcp.Window != 500 {
					t.Errorf("piece %d has options %v, ACK %d, window %d", i, tcp.Options, tcp.Ack, tcp.Window)
				}
				if want := binary.BigEndian.Uint16(whole[4:]) + uint16(i); desc == "IPv4" && binary.BigEndian.Uint16(p[4:]) != want {
					t.Errorf("piece %d has the identification %x, want %x", i, p[4:6], want)
				}
				all = append(all, tcp.Payload...)
			}
			if !bytes.Equal(all, payload) {
				t.Errorf("the pieces contain %q", all)
			}
		})
	}
}

// TestMergeHeaders: a merged segment has the flags of both, and the later window.
func TestMergeHeaders(t *testing.T) {
	for desc, f := range flows() {
		t.Run(desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{AB: badlink.Faults{Merge: 1, Hold: endless}})
			start := f.next
			a.Write(f.segment(t, []byte("odd"), func(tcp *layers.TCP) { tcp.CWR = true }))
			a.Write(f.segment(t, []byte("even"), nil))
			a.Write(f.segment(t, []byte("last"), func(tcp *layers.TCP) { tcp.FIN, tcp.PSH, tcp.Window = true, true, 900 }))
			a.Close()
			p := make([]byte, 1500)
			n, err := b.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			tcp := decode(t, p[:n])
			if tcp.Seq != start || string(tcp.Payload) != "oddevenlast" || !tcp.FIN || !tcp.PSH || !tcp.CWR || tcp.Window != 900 {
				t.Errorf("the merged segment is %v", tcp)
			}
			if s := a.Stats(); s.Merged != 2 || s.Out != 1 || s.Waiting != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestMergeApart: segments that one header cannot describe are not merged, and keep their order.
func TestMergeApart(t *testing.T) {
	for desc, f := range flows() {
		segment := func(set func(*layers.TCP)) []byte { return f.segment(t, []byte("next"), set) }
		for _, test := range []struct {
			desc   string
			second func() []byte
		}{
			{"a gap", func() []byte { f.next++; return segment(nil) }},
			{"an overlap", func() []byte { f.next--; return segment(nil) }},
			{"another acknowledgement", func() []byte { return segment(func(tcp *layers.TCP) { tcp.Ack++ }) }},
			{"another port", func() []byte { return segment(func(tcp *layers.TCP) { tcp.DstPort++ }) }},
			{"another option", func() []byte {
				return segment(func(tcp *layers.TCP) {
					tcp.Options = []layers.TCPOption{
						{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
						{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: []byte("12345678")},
					}
				})
			}},
			{"ECE", func() []byte { return segment(func(tcp *layers.TCP) { tcp.ECE = true }) }},
			{"CWR", func() []byte { return segment(func(tcp *layers.TCP) { tcp.CWR = true }) }},
			{"SYN", func() []byte { return segment(func(tcp *layers.TCP) { tcp.SYN = true }) }},
			{"no payload", func() []byte { return f.segment(t, nil, nil) }},
			{"too long for the MTU", func() []byte {
				headers := len(f.segment(t, nil, nil))
				return f.segment(t, make([]byte, 1500-headers-3), nil)
			}},
			{"UDP", func() []byte { return f.datagram(t, []byte("next")) }},
			{"a wrong checksum", func() []byte { p := segment(nil); p[len(p)-1]++; return p }},
			{"another hop limit", func() []byte {
				p := segment(nil)
				if desc == "IPv4" {
					p[8]--
					binary.BigEndian.PutUint16(p[10:], binary.BigEndian.Uint16(p[10:])+1<<8)
				} else {
					p[7]--
				}
				return p
			}},
			{"another address", func() []byte {
				other := *f
				other.dst = other.src
				return other.segment(t, []byte("next"), nil)
			}},
		} {
			t.Run(desc+"/"+test.desc, func(t *testing.T) {
				a, b := pipe(t, badlink.Config{AB: badlink.Faults{Merge: 1, Hold: endless}})
				want := [][]byte{segment(nil), test.second()}
				for _, p := range want {
					a.Write(p)
				}
				a.Close()
				for _, w := range want {
					p := make([]byte, 1500)
					if n, err := b.Read(p); err != nil || !bytes.Equal(p[:n], w) {
						t.Errorf("read %x, %v, want %x", p[:n], err, w)
					}
				}
			})
		}
	}
}

// TestMergeHold: a segment waits for the next one, but no longer than Hold.
func TestMergeHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flows()["IPv4"]
		const hold = 7 * time.Millisecond
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Merge: 1, Hold: hold}})
		start, want := time.Now(), f.segment(t, []byte("alone"), nil)
		a.Write(want)
		p := make([]byte, 1500)
		n, err := b.Read(p)
		if err != nil || !bytes.Equal(p[:n], want) || time.Since(start) != hold {
			t.Errorf("read %x, %v, after %v, want the segment after %v", p[:n], err, time.Since(start), hold)
		}
		// A segment that cannot be merged is not held back.
		a.Write(f.segment(t, nil, nil))
		if _, err := b.Read(p); err != nil || time.Since(start) != hold {
			t.Errorf("an acknowledgement arrived after %v, %v", time.Since(start), err)
		}
	})
}

// others returns packets that Split, Merge and CorruptRepaired must not touch.
func others(t testing.TB) map[string][]byte {
	packets := make(map[string][]byte)
	for desc, f := range flows() {
		data := make([]byte, 100)
		segment := f.segment(t, data, nil)
		changed := func(change func(p []byte)) []byte {
			p := slices.Clone(segment)
			change(p)
			return p
		}
		add := func(name string, p []byte) { packets[desc+"/"+name] = p }
		add("UDP", f.datagram(t, data))
		add("no payload", f.segment(t, nil, nil))
		add("truncated", segment[:len(segment)-1])
		add("with an end of its own", append(slices.Clone(segment), 0))
		add("version", changed(func(p []byte) { p[0] = 0x55 }))
		header := 20
		if desc == "IPv6" {
			header = 40
			add("fragment", changed(func(p []byte) { p[6] = 44 }))
			add("routing header", changed(func(p []byte) { p[6] = 43 }))
			add("jumbogram", changed(func(p []byte) { p[4], p[5] = 0, 0 }))
			add("endless options", changed(func(p []byte) { p[6], p[40], p[41] = 60, 60, 255 }))
		} else {
			repair := func(p []byte) {
				p[10], p[11] = 0, 0
				s := 0
				for i := 0; i < 20; i += 2 {
					if s += int(p[i])<<8 | int(p[i+1]); s > 0xffff {
						s -= 0xffff
					}
				}
				binary.BigEndian.PutUint16(p[10:], ^uint16(s))
			}
			add("first fragment", changed(func(p []byte) { p[6] = 0x20; repair(p) }))
			add("later fragment", changed(func(p []byte) { p[6], p[7] = 0, 5; repair(p) }))
			add("wrong header checksum", changed(func(p []byte) { p[10]++ }))
			add("short header", changed(func(p []byte) { p[0] = 0x44 }))
			add("long header", changed(func(p []byte) { p[0] = 0x4f }))
		}
		add("data offset too small", changed(func(p []byte) { p[header+12] = 0x40 }))
		add("data offset too large", changed(func(p []byte) { p = p[:header+20]; p[header+12] = 0xf0 })[:header+20])
	}
	packets["one byte"] = []byte{0x45}
	packets["zeros"] = make([]byte, 1500)
	return packets
}

// unsplittable returns segments that Split and Merge must not touch. CorruptRepaired may.
func unsplittable(t testing.TB) map[string][]byte {
	packets := make(map[string][]byte)
	for desc, f := range flows() {
		for flag, set := range map[string]func(*layers.TCP){
			"SYN": func(tcp *layers.TCP) { tcp.SYN = true },
			"RST": func(tcp *layers.TCP) { tcp.RST = true },
			"URG": func(tcp *layers.TCP) { tcp.URG = true },
		} {
			packets[desc+"/"+flag] = f.segment(t, make([]byte, 100), set)
		}
		p := f.segment(t, make([]byte, 100), nil)
		p[len(p)-1]++
		packets[desc+"/wrong checksum"] = p
	}
	return packets
}

// TestOthersPass: a packet that is not a whole TCP segment with payload passes unchanged and at
// once.
func TestOthersPass(t *testing.T) {
	for _, test := range []struct {
		packets map[string][]byte
		faults  badlink.Faults
	}{
		{others(t), badlink.Faults{Split: 1, Merge: 1, CorruptRepaired: 1, Hold: endless}},
		{unsplittable(t), badlink.Faults{Split: 1, Merge: 1, Hold: endless}},
	} {
		for desc, want := range test.packets {
			t.Run(desc, func(t *testing.T) {
				a, b := pipe(t, badlink.Config{AB: test.faults})
				a.Write(want)
				p := make([]byte, 1500)
				if n, err := b.Read(p); err != nil || !bytes.Equal(p[:n], want) {
					t.Errorf("%x became %x, %v", want, p[:n], err)
				}
			})
		}
	}
}

// TestExtensionHeaders: a segment after IPv6 options is cut like any other, and each piece has the
// options.
func TestExtensionHeaders(t *testing.T) {
	f := flows()["IPv6"]
	segment := f.segment(t, bytes.Repeat([]byte("payload"), 10), nil)
	options := []byte{60, 0, 1, 4, 0, 0, 0, 0, 6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // of 8 and of 16 bytes
	segment = slices.Insert(segment, 40, options...)
	segment[6] = 0
	segment[5] += byte(len(options))
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Split: 1}})
	a.Write(segment)
	var all []byte
	for _, p := range drain(t, a, b) {
		if !bytes.Equal(p[6:40], segment[6:40]) || !bytes.Equal(p[40:64], options) || int(p[5]) != len(p)-40 {
			t.Errorf("the piece has the headers %x", p[:64])
		}
		plain := slices.Delete(slices.Clone(p), 40, 64)
		plain[6] = 6
		plain[5] -= byte(len(options))
		all = append(all, decode(t, plain).Payload...)
	}
	if string(all) != string(segment[84:]) || a.Stats().Split != 1 {
		t.Errorf("the pieces contain %q", all)
	}
}

// TestRepairOfOddEnd: the last byte of a segment of odd length is a word of its own in the
// checksum.
func TestRepairOfOddEnd(t *testing.T) {
	f := flows()["IPv4"]
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{CorruptRepaired: 1}})
	for range 100 {
		a.Write(f.segment(t, []byte{byte(rand.Uint32())}, nil))
		decode(t, drain(t, a, b)[0])
	}
}
