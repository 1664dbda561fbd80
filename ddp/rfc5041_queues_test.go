package ddp

import (
	"bytes"
	"fmt"
	"testing"
)

// The checks apply to every queue, and to a buffer in two pieces: "the DDP Segment MUST be
// validated before Placement". Nothing is cut short to fit. DDP-5041-1.2-3, DDP-5041-1.2-4,
// DDP-5041-7.1-1, DDP-5041-7.1-3, DDP-5041-7.1-8 to DDP-5041-7.1-10, DDP-5041-7.1-19,
// DDP-5041-7.2-9 to DDP-5041-7.2-13
func TestRFC5041_7_1_EveryQueue(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		begun bool // 10 octets have arrived
		code  Code
		bad   UntaggedHeader
		n     int
	}{
		{"no buffer", false, CodeNoBuffer, UntaggedHeader{Last: true, MSN: 1}, 1},
		{"MSN 0", true, CodeMSNRange, UntaggedHeader{Last: true, MO: 10}, 1},
		{"MSN of the next buffer", true, CodeMSNRange, UntaggedHeader{Last: true, MSN: 2}, 1},
		{"first MO 4", false, CodeInvalidMO, UntaggedHeader{Last: true, MSN: 1, MO: 4}, 1},
		{"MO 0 again", true, CodeInvalidMO, UntaggedHeader{Last: true, MSN: 1}, 1},
		{"a hole", true, CodeInvalidMO, UntaggedHeader{Last: true, MSN: 1, MO: 11}, 1},
		{"one octet too long", true, CodeTooLong, UntaggedHeader{Last: true, MSN: 1, MO: 10}, 23},
		{"one octet too long at once", false, CodeTooLong, UntaggedHeader{Last: true, MSN: 1}, 33},
		{"far too long", false, CodeTooLong, UntaggedHeader{MSN: 1}, 60000},
		{"DDP version", true, CodeUntaggedVersion, UntaggedHeader{Last: true, MSN: 1, MO: 10}, 1},
	} {
		for qn := range QN(NumQueues) {
			for _, head := range []int{0, 4} {
				t.Run(fmt.Sprintf("%s, QN %d, head %d", tt.desc, qn, head), func(t *testing.T) {
					p := newPair(t)
					a, b := newGuarded(head), newGuarded(32-head)
					if tt.code != CodeNoBuffer {
						for range 2 {
							if err := post(p.queues[qn], a.mem, b.mem, 1); err != nil {
								t.Fatal(err)
							}
						}
					}
					if tt.begun {
						p.place(append(UntaggedHeader{QN: qn, MSN: 1}.AppendTo(nil), bytes.Repeat([]byte{guard}, 10)...))
						p.wantIdle("a message has begun")
					}
					tt.bad.QN = qn
					bad := untagged(tt.bad, tt.n)
					if tt.code == CodeUntaggedVersion {
						bad = version(bad, 2)
					}
					p.place(bad)
					p.wantFailure(bad, tt.code)
					if !untouched(a.all) || !untouched(b.all) {
						t.Errorf("memory %x, %x", a.all, b.all)
					}
				})
			}
		}
	}
}

// "At the Data Source, the DDP layer MUST send all the data contained in the ULP message." It does
// so even if the ULP gets its memory back before the end: the rest is sent as it was.
// DDP-5041-5.2-4
func TestRFC5041_5_2_AllOctetsOfWhatIsDetached(t *testing.T) {
	want := randomBytes(seeded(t), 1000)
	for cutBefore := range 11 { // of 11 segments of 100 octets at most
		for _, pieces := range [][]int{{1000}, {1, 99, 100, 50, 250, 500}, {333, 0, 600, 67}} {
			data := bytes.Clone(want)
			var m Message
			for off, k := 0, 0; k < len(pieces); k++ {
				m.Payload = append(m.Payload, data[off:off+pieces[k]])
				off += pieces[k]
			}
			m.Len = 1000
			var s Sender
			var got []byte
			s.Start(&m)
			next := func() bool {
				ok := s.Next(100 + UntaggedHeaderLen)
				if ok {
					got = append(got, wire(&s)[UntaggedHeaderLen:]...)
				}
				s.Release()
				return ok
			}
			for range cutBefore {
				next()
			}
			if rest := 1000 - len(got); rest > 0 && s.Detach(rest-1) {
				t.Errorf("%d octets detached, the limit is %d", rest, rest-1)
			} else if !s.Detach(rest) {
				t.Errorf("%d octets not detached", rest)
			}
			clear(data)
			for next() {
			}
			if !bytes.Equal(got, want) {
				t.Errorf("pieces of %v, detached behind %d segments: other octets are sent", pieces, cutBefore)
			}
		}
	}
}
