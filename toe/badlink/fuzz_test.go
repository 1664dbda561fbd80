package badlink

import (
	"bytes"
	"testing"
)

// FuzzPackets sends two packets through every fault that looks into packets. Nothing panics, and
// the output is the input, or TCP segments with right lengths and checksums and the same payload.
func FuzzPackets(f *testing.F) {
	four := []byte{
		0x45, 0, 0, 48, 0, 1, 0x40, 0, 64, 6, 0x26, 0xc5, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
		4, 0, 28, 6, 0, 0, 0, 1, 0, 0, 0, 77, 0x50, 0x10, 1, 0, 0, 0, 0, 0, // TCP
		'p', 'a', 'y', 'l', 'o', 'a', 'd', '.',
	}
	segment{four, 20, 40}.seal()
	six := append([]byte{0x60, 0, 0, 0, 0, 28, 6, 64, 31: 1, 39: 2}, four[20:]...)
	segment{six, 40, 60}.seal()
	next := bytes.Clone(four)
	next[27] += 8
	segment{next, 20, 40}.seal()
	for seed, pair := range [][2][]byte{{four, next}, {four, six}, {six, six}, {six[:50], four[:30]}, {{0x45}, {0x60}}} {
		f.Add(uint64(seed), pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, seed uint64, p, q []byte) {
		var in [][]byte
		for _, b := range [][]byte{p, q} {
			if len(b) > 0 && len(b) <= defaultMTU {
				in = append(in, b)
			}
			tooBig(nil, b, minMTU)
			if len(b) > 0 {
				corrupt(bytes.Clone(b), func(n int) int { return int(seed % uint64(n)) })
			}
			checkRepaired(t, b, seed)
		}
		a, z, err := Pipe(Config{Seed: seed, AB: Faults{Split: 0.7, Merge: 0.7, Hold: maxTime}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range in {
			a.Write(b)
		}
		a.Close()
		var out [][]byte
		b := make([]byte, defaultMTU)
		for {
			n, err := z.Read(b)
			if err != nil {
				break
			}
			out = append(out, bytes.Clone(b[:n]))
		}
		if got, want := stripped(t, out, in), stripped(t, in, in); !bytes.Equal(got, want) {
			t.Errorf("%x became %x", in, out)
		}
	})
}

// checkRepaired: CorruptRepaired leaves a right checksum right, and changes nothing in other
// packets.
func checkRepaired(t *testing.T, b []byte, seed uint64) {
	changed := bytes.Clone(b)
	repaired := corruptRepaired(changed, func(n int) int { return int(seed % uint64(n)) })
	s, ok := parseTCP(b)
	if repaired != (ok && len(s.payload()) > 0) || repaired == bytes.Equal(changed, b) {
		t.Errorf("%x became %x, and the result is %v", b, changed, repaired)
	}
	if after, _ := parseTCP(changed); repaired && s.isSound() != after.isSound() {
		t.Errorf("the checksum of %x is right: %v, that of %x: %v", b, s.isSound(), changed, after.isSound())
	}
}

// stripped returns what packets contain: of the segments that Split and Merge may touch, the
// payload, and of other packets everything. A packet that is not one of in must be such a segment.
func stripped(t *testing.T, packets, in [][]byte) (all []byte) {
	for _, p := range packets {
		s, ok := parseTCP(p)
		if ok && s.isPlain() {
			all = append(all, s.payload()...)
			continue
		}
		same := false
		for _, q := range in {
			same = same || bytes.Equal(p, q)
		}
		if !same {
			t.Errorf("%x is none of the packets that were written, and no segment", p)
		}
		all = append(all, p...)
	}
	return all
}
