package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// Requirements of RFC 5044 on Full Operation that can be tested on a connection.

// foreignResponder lets c, an Initiator of plainInitiator's kind, begin Full Operation and returns
// a peer that is not rddp and wants Markers or not.
func foreignResponder(t *testing.T, c *extsock.Conn, s net.Conn, markers bool) *rawPeer {
	t.Helper()
	far := make([]byte, 20)
	done := enable(c, "")
	if _, err := io.ReadFull(s, far); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(mpa.Frame{Reply: true, Revision: 1, CRC: true, Markers: markers}.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return newRawPeer(t, s, mpa.Agreement{CRC: true, TxMarkers: c.ConnectionState().ReceivesMarkers, RxMarkers: markers})
}

// message returns the lengths of the ULPDUs of the next Send.
func (p *rawPeer) message() (lengths []int) {
	p.t.Helper()
	for {
		u, err := p.next()
		if err != nil {
			p.t.Fatal(err)
		}
		lengths = append(lengths, len(u))
		if h, _, err := ddp.ParseUntagged(u); err != nil || h.Last {
			return lengths
		}
	}
}

// noEMSS hides TCP's EMSS.
type noEMSS struct{ net.Conn }

// "MPA MUST provide information to DDP on the current maximum size of the record that is acceptable
// to send (MULPDU). DDP SHOULD limit each record size to MULPDU." "DDP SHOULD provide ULPDUs that
// are as large as possible, but less than or equal to MULPDU." "If the transmit side TCP
// implementation is not able to report the EMSS, MPA SHOULD use the current MTU value to establish
// a likely FPDU size, taking into account the various expected header sizes": that of Ethernet,
// 1500, less 40 of IPv4 and TCP and 12 of timestamps. With an EMSS below 128 octets the sender "is
// not required to follow the segmentation rules". MPA-5044-3-2 to MPA-5044-3-5, MPA-5044-4.5-5,
// MPA-5044-4.5-7 to MPA-5044-4.5-9, MPA-5044-5.1-2,
// MPA-5044-5.1-3
func TestRFC5044_4_5_ULPDUsOfMULPDU(t *testing.T) {
	tests := []struct {
		emss           int // 0: TCP does not tell
		plain, markers int // MULPDU
	}{
		{64, 128, 128}, {140, 134, 130}, {536, 530, 522}, {1448, 1442, 1430}, {1461, 1454, 1442}, {8948, 8942, 8870},
		{65483, 64768, 64768}, {0, 1442, 1430},
	}
	for _, tt := range tests {
		for bits := range 4 {
			markers, ours := bits&1 != 0, bits&2 != 0
			if ours && tt.emss == 0 {
				continue
			}
			t.Run(fmt.Sprintf("EMSS %d, our own limit %t, Markers %t", tt.emss, ours, markers), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					cfg, wire := plainInitiator, simtoe.Config{EMSS: tt.emss}
					if ours {
						cfg.MaxFPDU, wire.EMSS = tt.emss, 0
					}
					a, b := simtoe.Pair(wire, simtoe.Config{})
					near, want := net.Conn(a), tt.plain
					if tt.emss == 0 {
						near = noEMSS{a}
					}
					if markers {
						want = tt.markers
					}
					c := extsock.NewConn(near, true, &cfg)
					defer c.Close()
					defer b.Close()
					p := foreignResponder(t, c, b, markers)
					go c.Write(make([]byte, 200_000))
					lengths := p.message()
					whole, last := lengths[:len(lengths)-1], lengths[len(lengths)-1]
					if len(whole) == 0 || slices.Min(whole) != want || slices.Max(whole) != want || last > want {
						t.Errorf("%d ULPDUs of %d to %d octets, the last of %d; want %d", len(lengths), slices.Min(whole), slices.Max(whole), last, want)
					}
				})
			})
		}
	}
}

// "an MPA implementation MAY dynamically adjust the MULPDU" "If the TCP implementation needs to
// adjust EMSS to support MTU changes or changing TCP options, the MULPDU value is changed
// accordingly."
// MPA-5044-3-2, MPA-5044-4.5-3, MPA-5044-4.5-6
func TestRFC5044_4_5_EMSSChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, &plainInitiator)
		defer c.Close()
		defer b.Close()
		p := foreignResponder(t, c, b, false)
		for _, tt := range []struct{ emss, want int }{{1448, 1442}, {536, 530}, {9000, 8994}} {
			a.(*simtoe.Stream).SetEMSS(tt.emss)
			if _, err := c.Write(make([]byte, 20_000)); err != nil {
				t.Fatal(err)
			}
			if lengths := p.message(); lengths[0] != tt.want || slices.Max(lengths) != tt.want {
				t.Errorf("EMSS %d: ULPDUs of %v octets, want %d", tt.emss, lengths, tt.want)
			}
		}
	})
}

// recordedBatches notes where in the stream each of its writes begins.
type recordedBatches struct {
	toe.Stream
	mu     sync.Mutex
	begins []uint64
	off    uint64
}

func (s *recordedBatches) TryWriteBatch(bufs [][]byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err = s.Stream.TryWriteBatch(bufs)
	s.begins = append(s.begins, s.off)
	s.off += uint64(n)
	return n, err
}

// "MPA transmitters SHOULD also use whatever facilities the TCP stack presents to cause the TCP
// transmitter to start TCP segments at FPDU boundaries", such as "passing FPDU buffers sized to the
// current EMSS to the TCP socket": whole FPDUs in each write, and where there is enough to send
// FPDUs that fill the EMSS.
// MPA-5044-5.1-4, MPA-5044-5.1-5
func TestRFC5044_5_1_WritesOfWholeFPDUs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const emss = 536
		a, b := simtoe.Pair(simtoe.Config{EMSS: emss}, simtoe.Config{})
		stream := &recordedBatches{Stream: a}
		c := extsock.NewConn(stream, true, &plainInitiator)
		defer c.Close()
		defer b.Close()
		p := foreignResponder(t, c, b, false)
		for _, n := range []int{1, 100, 5000, 536, 2000} {
			if _, err := c.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		begins := map[uint64]bool{0: true}
		for messages := 0; messages < 5; {
			u, err := p.next()
			if err != nil {
				t.Fatal(err)
			}
			h, _, err := ddp.ParseUntagged(u)
			if err != nil {
				t.Fatal(err)
			}
			if h.Last {
				messages++
			} else if n := (2+len(u)+3)&^3 + 4; n != emss {
				t.Errorf("an FPDU in the middle of a message has %d octets, want %d", n, emss)
			}
			begins[p.rx.Edge()] = true
		}
		stream.mu.Lock()
		defer stream.mu.Unlock()
		for _, off := range append(stream.begins, stream.off) {
			if !begins[off] {
				t.Errorf("a write begins at %d of the stream, inside an FPDU", off)
			}
		}
		if len(stream.begins) < 5 {
			t.Errorf("%d writes, want 5 or more", len(stream.begins))
		}
	})
}

// "Each half connection of MPA terminates when DDP closes the corresponding TCP half connection."
// MPA-5044-7.2-1
func TestRFC5044_7_2_HalfConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{Messages: true}, nil)
		p.segment(1, 0, true, 'a')
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if _, err := c.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if u, err := p.next(); err != nil || !bytes.HasSuffix(u, []byte("last words")) {
			t.Errorf("got %q, %v", u, err)
		}
		for range 3 { // our half has ended behind a whole FPDU, the peer's goes on
			if u, err := p.next(); err != io.EOF {
				t.Errorf("after Close: %x, %v, want FIN", u, err)
			}
			p.segment(2, 0, true, 'b')
		}
		if err := p.s.(toe.Stream).CloseWrite(); err != nil {
			t.Error(err)
		}
		if u, err := p.next(); err != io.EOF {
			t.Errorf("after the peer's FIN: %x, %v", u, err)
		}
		settle()
	})
}

// "For Error codes 2 and 3, MPA MUST NOT close the TCP connection following a reported error.
// Closing the connection is the responsibility of DDP's ULP." "This may not occur until after one
// or more last messages are transmitted on the opposite half connection. This allows a diagnostic
// error message to be sent." "Once MPA delivers an error of any type, it MUST NOT pass or deliver
// any additional FPDUs on that half connection." MPA-5044-8-2, MPA-5044-8-3, MPA-5044-8-12,
// MPA-5044-8-13, MPA-5044-8-14, MPA-5044-9.1-1, MPA-6580-3.3-1, MPA-6580-3.3-2, RDMAP-6580-3.3-1
func TestRFC5044_8_TerminateThenFIN(t *testing.T) {
	tests := []struct {
		desc      string
		spoil     func(stream []byte) // it begins with the Marker of offset 0; there is one at 512
		code      mpa.Code
		terminate string
	}{
		{"CRC", func(b []byte) { b[600] ^= 4 }, mpa.CodeCRC, "0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585"},
		{"Marker", func(b []byte) {
			b[515] ^= 4
			end := len(b) - 4
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[32:end], crc32.MakeTable(crc32.Castagnoli)))
		}, mpa.CodeMarker, "0016 4147 00000000 00000002 00000001 00000000 20030000 01766420"},
		{"Marker and CRC", func(b []byte) { b[515] ^= 4 }, mpa.CodeCRC, "0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, far := against(t, false, extsock.Config{Messages: true, Markers: true})
				far.say(requestKey + "40 01 0000")
				if err := c.EnableDDP(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				far.hear(replyKey + "c0 01 0000")
				tx, b := mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: true}), mpa.NewBatch(512<<10)
				tx.Append(b, false, untagged(rdmap.OpSend, 0, 1, 0, 4)) // 32 octets with the first Marker
				tx.Append(b, false, untagged(rdmap.OpSend, 0, 2, 0, 600))
				octets := bytes.Join(b.Bufs(), nil)
				tt.spoil(octets)
				far.Write(octets)
				b.Reset()
				tx.Append(b, false, untagged(rdmap.OpSend, 0, 3, 0, 4))
				far.Write(bytes.Join(b.Bufs(), nil))
				far.hear(tt.terminate)
				if n, err := far.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("behind the Terminate: %d, %v, want FIN", n, err)
				}
				p := make([]byte, 1000)
				if n, err := c.Read(p); n != 4 || err != nil {
					t.Errorf("the good message: %d, %v", n, err)
				}
				var e *mpa.Error
				if n, err := c.Read(p); !errors.As(err, &e) || e.Code != tt.code || e.Off != 32 {
					t.Errorf("Read = %d, %v, want MPA error code %d at 32", n, err, tt.code)
				}
				far.close(c)
			})
		})
	}
}
