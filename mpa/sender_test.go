package mpa

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A vector is an FPDU at stream offset off, with all its bytes.
type vector struct {
	desc    string
	off     uint64
	markers bool
	ulpdu   []byte
	wire    string
}

var vectors = []vector{
	{"RFC 5044 figure 4, no CRC given there", 500, true, counting(1, 16), "0010 0102030405060708090a 0000000c 0b0c0d0e0f10 0000" + "????????"},
	{"RFC 5044 figure 5", 0, true, figure5, "00000000 002a" + hex.EncodeToString(figure5) + "52239983"},
	{"RFC 5044 figure 6", 492, true, figure6, "002a 4143 00000000 00000000 00000002 00000000 00000014" + hex.EncodeToString(make([]byte, 24)) + "84925898"},
	{"Send of hello", 0, false, unhex("4143 00000000 00000000 00000001 00000000 68656c6c6f"),
		"0017 4143 00000000 00000000 00000001 00000000 68656c6c6f 000000 b990b10c"},
	{"Send of hello, first of a stream with Markers", 0, true, unhex("4143 00000000 00000000 00000001 00000000 68656c6c6f"),
		"00000000 0017 4143 00000000 00000000 00000001 00000000 68656c6c6f 000000 7a61e971"},
	{"RTR: zero-length RDMA Write", 0, false, unhex("c140 00000001 0000000000000000"), "000e c140 00000001 0000000000000000 ebd34c5f"},
	{"RTR: zero-length RDMA Read", 0, false,
		unhex("4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000000 00000001 0000000000000000"),
		"002e 4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000000 00000001 0000000000000000 27dbd7e7"},
	{"RTR: zero-length Send", 0, false, unhex("4143 00000000 00000000 00000001 00000000"), "0012 4143 00000000 00000000 00000001 00000000 587be8c4"},
	{"Terminate, CRC error", 0, false, terminate(2), "0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585"},
	{"Terminate, Marker", 0, false, terminate(3), "0016 4147 00000000 00000002 00000001 00000000 20030000 01766420"},
	{"Terminate, local catastrophic", 0, false, terminate(5), "0016 4147 00000000 00000002 00000001 00000000 20050000 1680d5f1"},
	{"Terminate, insufficient IRD", 0, false, terminate(6), "0016 4147 00000000 00000002 00000001 00000000 20060000 6540fb1b"},
	{"Terminate, no matching RTR", 0, false, terminate(7), "0016 4147 00000000 00000002 00000001 00000000 20070000 1bd2babe"},
	{"one octet", 0, false, []byte{0xff}, "0001 ff 00 3afdc54e"},
}

func terminate(code byte) []byte {
	return append(unhex("4147 00000000 00000002 00000001 00000000"), 0x20, code, 0, 0)
}

// octets returns the bytes on the wire. It computes the CRC if the source does not state it.
func (v vector) octets() []byte {
	if s, ok := bytes.CutSuffix([]byte(v.wire), []byte("????????")); ok {
		return seal(append(unhex(string(s)), 0, 0, 0, 0))
	}
	return unhex(v.wire)
}

// TestVectors sends and receives each FPDU whose bytes are known. Figures 5 and 6: MPA-5044-4.4-12
// to MPA-5044-4.4-14, MPA-5044-4.4-17, MPA-5044-4.4-21, MPA-5044-4.4-22, MPA-5044-4.3-23;
// Terminates: MPA-6581-9.1-15, MPA-6581-9.2-14; Ready to Receive: MPA-6581-1.1-1.
func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.desc, func(t *testing.T) {
			want := v.octets()
			s := NewSender(Agreement{CRC: true, TxMarkers: v.markers})
			s.off = v.off
			if got := appendAll(s, v.ulpdu); !bytes.Equal(got, want) {
				t.Errorf("Append(%x) = %x, want %x", v.ulpdu, got, want)
			}
			if s.Off() != v.off+uint64(len(want)) {
				t.Errorf("Off = %d, want %d", s.Off(), v.off+uint64(len(want)))
			}
			newSink(true, v.markers).at(v.off).feed(want, 0).want(t, [][]byte{v.ulpdu}, []uint64{v.off})
		})
	}
}

// TestWorkedStream compares seven consecutive FPDUs with known values: all bytes by a digest, and
// the significant bytes one by one. The Receiver returns the ULPDUs that were sent.
func TestWorkedStream(t *testing.T) {
	tests := []struct {
		markers bool
		sum     string
		begins  []uint64
		octets  map[int]string
	}{
		{true, "fed2578f2507360d6e7cd2677088669f4c04f1259ec2091080cebbf00bbe494b",
			[]uint64{0, 52, 512, 1032, 2488, 2496, 2556}, map[int]string{
				0:    "00000000 002a 4143",
				48:   "52239983 01c6 1011",
				504:  "d2d3d4d5 3ff4d194 00000000 01f9 2021",
				1020: "161718 00 000001fc 9cbbd163 05a2 3031",
				1532: "22232425 000001f8 26272829",
				2044: "1e1f2021 000003f8 22232425",
				2484: "47b9f49d 0001 40 00 bd1f3112 0036 5051",
				2552: "c277f08b 0017 6061 00000004 62636465",
				2568: "66676869 6a6b6c6d 6e6f7071 72737475 76 000000 acd9b224",
			}},
		{false, "043449fba9b0046d7858f36d22f699545abea811ef3ae05be6ef4cf3aa5e24da",
			[]uint64{0, 48, 508, 1020, 2468, 2476, 2536}, map[int]string{
				44: "b7243ec3", 504: "3ff4d194", 1016: "836eff43", 2464: "094a5af2", 2472: "bd1f3112", 2532: "c277f08b", 2564: "f6ca8a40",
			}},
	}
	for _, tt := range tests {
		got := appendAll(NewSender(Agreement{CRC: true, TxMarkers: tt.markers}), worked()...)
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != tt.sum {
			t.Errorf("Markers %v: %d octets with SHA-256 %x, want %s", tt.markers, len(got), sum, tt.sum)
		}
		for at, s := range tt.octets {
			if want := unhex(s); !bytes.Equal(got[at:at+len(want)], want) {
				t.Errorf("Markers %v: at %d: %x, want %x", tt.markers, at, got[at:at+len(want)], want)
			}
		}
		newSink(true, tt.markers).feed(got, 0).want(t, worked(), tt.begins)
	}
}

// TestCopiedPieces sends ULPDUs of several copied pieces, each as long as those that are copied and
// summed in one pass, or shorter or longer by one byte.
// MPA-5044-4.4-12, MPA-5044-4.4-15
func TestCopiedPieces(t *testing.T) {
	lengths := []int{0, 1, 2, 3, copiedWithCRC - 1, copiedWithCRC, copiedWithCRC + 1, byReference - 1, byReference, byReference + 63}
	bothWays(t, func(t *testing.T, markers bool) {
		b := NewBatch(scratchLen)
		s := NewSender(Agreement{CRC: true, TxMarkers: markers})
		for _, first := range lengths {
			for _, second := range lengths {
				for _, snapshot := range []bool{false, true} {
					ulpdu := counting(first, 18+first+second+5)
					header, rest := ulpdu[:18], ulpdu[18:]
					off := int(s.Off())
					b.Reset()
					s.Append(b, snapshot, header, rest[:first], rest[first:first+second], rest[first+second:])
					got := bytes.Join(b.Bufs(), nil)
					if want := refFPDU(ulpdu, off, markers, true); !bytes.Equal(got, want) {
						t.Fatalf("pieces of %d and %d bytes, snapshot %v: %x, want %x", first, second, snapshot, got, want)
					}
					if got := int(s.Off()) - off; got != b.Len() {
						t.Fatalf("pieces of %d and %d bytes, snapshot %v: Off has grown by %d, want %d", first, second, snapshot, got, b.Len())
					}
				}
			}
		}
	})
}

// TestEveryPhase sends and receives a ULPDU of every length at every position between two Markers.
// MPA-5044-4.1-11, MPA-5044-4.3-21, MPA-5044-5.2-1
func TestEveryPhase(t *testing.T) {
	step := 4
	if testmode.Slow() {
		step = 36
	}
	b := NewBatch(scratchLen)
	for off := 0; off < markerInterval; off += step {
		for n := 1; n <= 2100; n++ {
			ulpdu := counting(off+n, n)
			s := NewSender(Agreement{CRC: true, TxMarkers: true})
			s.off = uint64(off)
			b.Reset()
			header := min(n, 18)
			s.Append(b, false, ulpdu[:header], ulpdu[header:])
			got := bytes.Join(b.Bufs(), nil)
			if want := refBody(ulpdu, off, true); !bytes.Equal(got[:len(got)-4], want) || getCRC(got[len(got)-4:]) != updateCRC(0, want) {
				t.Fatalf("ULPDU of %d octets at %d: %x, want %x and CRC %08x", n, off, got, want, updateCRC(0, want))
			}
			f, ok := parseFPDU(got, uint64(off), true)
			if !ok || f.size != len(got) {
				t.Fatalf("ULPDU of %d octets at %d: parsed as %d octets, has %d", n, off, f.size, len(got))
			}
			if at, want, bad := f.badMarker(got); bad {
				t.Fatalf("ULPDU of %d octets at %d: Marker at %d, want FPDUPTR %d", n, off, at, want)
			}
			if u := f.ulpdu(got, true); !bytes.Equal(u, ulpdu) {
				t.Fatalf("ULPDU of %d octets at %d: came back as %x", n, off, u)
			}
		}
	}
}

// TestWhatIsCopied checks that a Sender refers to long payload only, so that later changes affect
// only long payload.
func TestWhatIsCopied(t *testing.T) {
	tests := []struct {
		desc              string
		snapshot, markers bool
		n                 int
		copied            bool
	}{
		{"long", false, false, byReference, false},
		{"short", false, false, byReference - 1, true},
		{"long, snapshot", true, false, byReference, true},
		{"long, Markers", false, true, byReference, true},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			header, payload := counting(0, 14), counting(14, tt.n)
			ulpdu := bytes.Join([][]byte{header, payload}, nil)
			b := NewBatch(scratchLen)
			NewSender(Agreement{CRC: true, TxMarkers: tt.markers}).Append(b, tt.snapshot, header, payload)
			header[0]++
			payload[0]++
			got := bytes.Join(b.Bufs(), nil)
			if !tt.copied {
				got[2+len(header)]--
			}
			if want := refFPDU(ulpdu, 0, tt.markers, true); !bytes.Equal(got, want) {
				t.Errorf("FPDU of %d octets is not the one of %d wanted", len(got), len(want))
			}
		})
	}
}

// TestPlace checks that payload which a caller puts into its place in the batch is not copied, and
// that the FPDU is the one that a copy makes.
func TestPlace(t *testing.T) {
	for _, crc := range []bool{false, true} {
		b := NewBatch(scratchLen)
		s := NewSender(Agreement{CRC: crc})
		for _, n := range []int{1, 100, byReference, MaxULPDU - 14} {
			b.Reset()
			off := int(s.Off())
			ulpdu := counting(n, 14+n)
			place := s.Place(b, 14, n)
			copy(place, ulpdu[14:])
			s.Append(b, true, ulpdu[:14], place)
			if got := b.Bufs()[0]; len(place) != n || &got[lengthLen+14] != &place[0] {
				t.Errorf("%d bytes of payload are not where they were put", n)
			}
			if got, want := bytes.Join(b.Bufs(), nil), refFPDU(ulpdu, off, false, crc); !bytes.Equal(got, want) {
				t.Errorf("the FPDU with %d bytes of payload is another one, CRC %t", n, crc)
			}
			if got := int(s.Off()) - off; got != b.Len() {
				t.Errorf("%d bytes of payload: Off has grown by %d, want %d", n, got, b.Len())
			}
		}
	}
	if p := NewSender(Agreement{TxMarkers: true}).Place(NewBatch(scratchLen), 14, 100); p != nil {
		t.Error("a place for payload in one piece, though Markers divide it")
	}
}
