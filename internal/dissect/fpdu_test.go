package dissect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
)

// exampleULPDUs are the seven ULPDUs of a worked example with markers at every possible place:
// before the header, inside, between pad and CRC, and right after an FPDU.
func exampleULPDUs() [][]byte {
	all := [][]byte{append([]byte{0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, make([]byte, 24)...)}
	for i, n := range []int{454, 505, 1442, 1, 54, 23} {
		u := make([]byte, n)
		for k := range u {
			u[k] = byte(16*(i+1) + k)
		}
		all = append(all, u)
	}
	return all
}

func TestFramerWorkedExample(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		markers bool
		sha     string
		sizes   []int
		counts  []int
	}{
		{
			"markers", true, "fed2578f2507360d6e7cd2677088669f4c04f1259ec2091080cebbf00bbe494b",
			[]int{52, 460, 520, 1456, 8, 60, 36}, []int{1, 0, 2, 2, 0, 0, 1},
		},
		{
			"no markers", false, "043449fba9b0046d7858f36d22f699545abea811ef3ae05be6ef4cf3aa5e24da",
			[]int{48, 460, 512, 1448, 8, 60, 32}, []int{0, 0, 0, 0, 0, 0, 0},
		},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			ulpdus := exampleULPDUs()
			stream := markStream(0, tt.markers, ulpdus...)
			if sum := sha256.Sum256(stream); hex.EncodeToString(sum[:]) != tt.sha {
				t.Fatalf("the example's SHA-256 is %x, want %s", sum, tt.sha)
			}
			f := framer{markers: tt.markers}
			for i, u := range ulpdus {
				for n := range tt.sizes[i] {
					if _, ok := f.next(stream[:n]); ok {
						t.Fatalf("FPDU %d: next accepted %d of %d bytes", i, n, tt.sizes[i])
					}
				}
				p, ok := f.next(stream)
				if !ok || !p.crcGood || p.fault != "" || p.size != tt.sizes[i] || p.markers != tt.counts[i] {
					t.Fatalf("FPDU %d: next = size %d, markers %d, crc good %t, fault %q, %t; want size %d, markers %d",
						i, p.size, p.markers, p.crcGood, p.fault, ok, tt.sizes[i], tt.counts[i])
				}
				if !bytes.Equal(p.ulpdu, u) {
					t.Errorf("FPDU %d: ulpdu = %x, want %x", i, p.ulpdu, u)
				}
				stream = stream[p.size:]
			}
			if len(stream) != 0 {
				t.Errorf("%d bytes are left", len(stream))
			}
		})
	}
}

// TestFramerEveryPlace puts an FPDU of every length, up to one with two markers, at every place
// between two markers.
func TestFramerEveryPlace(t *testing.T) {
	u := make([]byte, 1100)
	for off := uint64(0); off < markerInterval; off += 4 {
		for n := 2; n <= len(u); n += 4 {
			b := markStream(off, true, u[:n])
			p, ok := (&framer{markers: true, off: off}).next(append(b, 0, 0, 0, 0))
			if !ok || p.size != len(b) || !p.crcGood || p.fault != "" || len(p.ulpdu) != n {
				t.Fatalf("at %d, ULPDU of %d bytes: next = size %d, crc good %t, fault %q, ulpdu of %d; want size %d",
					off, n, p.size, p.crcGood, p.fault, len(p.ulpdu), len(b))
			}
		}
	}
}

func TestFramerTellsDamage(t *testing.T) {
	stream := markStream(0, true, exampleULPDUs()[3]) // markers at 0, 512, 1024
	for _, tt := range []struct {
		desc    string
		at      int
		fault   string
		crcGood bool
	}{
		{"payload", 100, "", false},
		{"CRC", len(stream) - 1, "", false},
		{"FPDUPTR of the second marker", 515, "marker at stream offset 512 has FPDUPTR 252, want 508", false},
	} {
		b := bytes.Clone(stream)
		if tt.fault != "" {
			b[tt.at-1] ^= 1 // the upper octet of the pointer
		} else {
			b[tt.at] ^= 1
		}
		p, ok := (&framer{markers: true}).next(b)
		if !ok || p.fault != tt.fault || p.crcGood != tt.crcGood {
			t.Errorf("%s: next = crc good %t, fault %q, %t; want crc good %t, fault %q", tt.desc, p.crcGood, p.fault, ok, tt.crcGood, tt.fault)
		}
	}
}

// TestFramerAgreesWithReceiver gives the same streams to mpa.Receiver.
func TestFramerAgreesWithReceiver(t *testing.T) {
	random := prototest.Seeded(t)
	for range 50 {
		markers := random.IntN(2) == 0
		var ulpdus [][]byte
		for range 1 + random.IntN(20) {
			u := make([]byte, 1+random.IntN(3000))
			for i := range u {
				u[i] = byte(random.Uint32())
			}
			ulpdus = append(ulpdus, u)
		}
		stream := markStream(0, markers, ulpdus...)
		if random.IntN(2) == 0 {
			stream[random.IntN(len(stream))] ^= 1 << random.IntN(8)
		}
		agree(t, stream, markers)
	}
}

// agree compares a framer and an mpa.Receiver up to the first FPDU that is not good.
func agree(t *testing.T, stream []byte, markers bool) {
	t.Helper()
	r := mpa.NewReceiver(mpa.Agreement{CRC: true, RxMarkers: markers})
	r.SetBuffer(make([]byte, 256<<10))
	n := copy(r.Free(), stream)
	r.Fill(0, n)
	f := framer{markers: markers}
	for {
		off := f.off
		p, ok := f.next(stream)
		good := ok && p.crcGood && p.fault == ""
		if next := r.Next(); next != good {
			t.Fatalf("at offset %d Receiver.Next() = %t, framer says %t (crc good %t, fault %q, whole %t)", off, next, good, p.crcGood, p.fault, ok)
		}
		if !good {
			return
		}
		if u := r.ULPDU(); u.Off != off || !bytes.Equal(u.Data, p.ulpdu) {
			t.Fatalf("Receiver.ULPDU() = off %d, %x; framer has off %d, %x", u.Off, u.Data, off, p.ulpdu)
		}
		stream = stream[p.size:]
	}
}
