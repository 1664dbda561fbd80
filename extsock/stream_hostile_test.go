package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// rawStreamPair switches a Conn against a rawPeer that announces a byte stream with credits.
func rawStreamPair(t *testing.T, cfg extsock.Config, credits uint16) (*rawPeer, *extsock.Conn) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	record := []byte{'r', 'd', 'd', 'p', 2, 20, 0, 7, 0, 0, 0x10, 0, 0, 0, 0, 0} // messages of 4096 octets
	binary.BigEndian.PutUint16(record[12:], credits)
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli)))
	return rawPairOver(t, a, b, cfg, record, nil)
}

// segment sends a segment of a Send.
func (p *rawPeer) segment(msn, mo uint32, last bool, payload ...byte) {
	p.t.Helper()
	h := ddp.UntaggedHeader{Last: last, RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, MSN: msn, MO: mo}
	p.send(append(h.AppendTo(nil), payload...)...)
}

// wantStreamEnd checks that a Terminate comes, after what was on its way, and then the FIN.
func (p *rawPeer) wantStreamEnd() {
	p.t.Helper()
	for {
		u, err := p.next()
		if err != nil {
			p.t.Errorf("no Terminate: %v", err)
			return
		}
		if h, _, err := ddp.ParseUntagged(u); err == nil && h.QN == ddp.QNTerminate {
			break
		}
	}
	if u, err := p.next(); err != io.EOF {
		p.t.Errorf("after the Terminate: %x, %v, want FIN", u, err)
	}
}

// data returns a message with n octets of data.
func data(n int) []byte { return append(make([]byte, 4), bytes.Repeat([]byte{'d'}, n)...) }

// TestStreamHostilePeer: each breach of the rules ends the connection with an error that says so.
// Data that came before it is still read.
func TestStreamHostilePeer(t *testing.T) {
	tests := []struct {
		desc     string
		good     string // what is in order, besides the message that all send first
		messages [][]byte
		byDDP    bool // DDP finds the fault
	}{
		{desc: "no header", messages: [][]byte{{}}},
		{desc: "a header that is cut", messages: [][]byte{{0, 0, 0}}},
		{desc: "unknown type", messages: [][]byte{{5, 0, 0, 0, 1}}},
		{desc: "type 255", messages: [][]byte{{255, 0, 0, 0}}},
		{desc: "unknown flag", messages: [][]byte{{0, 2, 0, 0, 1}}},
		{desc: "unknown flag beside FIN", messages: [][]byte{{0, 0x81, 0, 0}}},
		{desc: "FIN on an offer", messages: [][]byte{{1, 1, 0, 0, 1}}},
		{desc: "data behind FIN", messages: [][]byte{{0, 1, 0, 0}, {0, 0, 0, 0, 1}}},
		{desc: "FIN with data behind FIN", good: "x", messages: [][]byte{{0, 1, 0, 0, 'x'}, {0, 1, 0, 0, 1}}},
		{desc: "the end twice", messages: [][]byte{{0, 1, 0, 0}, {0, 1, 0, 0}}},
		{desc: "the end behind data with the end", good: "x", messages: [][]byte{{0, 1, 0, 0, 'x'}, {0, 1, 0, 0}}},
		{desc: "one credit too many", messages: [][]byte{{0, 0, 0, 1}}},
		{desc: "credits without end", messages: [][]byte{{0, 0, 0xff, 0xff}}},
		{desc: "a long message", byDDP: true, messages: [][]byte{data(1021)}},
		{desc: "a very long message", byDDP: true, messages: [][]byte{data(60_000)}},
		{
			desc: "more messages than credits", byDDP: true, good: string(bytes.Repeat([]byte{'d'}, 5*1000)),
			messages: [][]byte{data(1000), data(1000), data(1000), data(1000), data(1000), data(1000), data(1000), data(1000)},
		},
	}
	for _, tt := range tests {
		for _, waits := range []bool{false, true} {
			if waits && tt.good != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s, a reader waits: %t", tt.desc, waits), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p, c := rawStreamPair(t, extsock.Config{RecvDepth: 6, RecvSize: 1024}, 32)
					memory := bytes.Repeat([]byte{0xaa}, 3*1024)
					buf := memory[1024:2048:2048]
					p.segment(1, 0, true, 0, 0, 0, 0, 'g')
					read := make(chan error, 1)
					if waits {
						if n, err := c.Read(buf); n != 1 || err != nil {
							t.Fatalf("Read = %d, %v", n, err)
						}
						go func() { _, err := c.Read(buf); read <- err }()
					}
					for i, m := range tt.messages {
						p.segment(uint32(2+i), 0, true, m...)
					}
					p.wantStreamEnd()
					var err error
					if waits {
						err = <-read
					} else {
						var got []byte
						for err == nil {
							var n int
							n, err = c.Read(buf)
							got = append(got, buf[:n]...)
						}
						if string(got) != "g"+tt.good {
							t.Errorf("read %d octets %.20q, want %d octets %.20q", len(got), got, 1+len(tt.good), "g"+tt.good)
						}
					}
					// A stream that has ended properly remains so.
					atEnd := len(tt.messages) == 2 && err == io.EOF
					if !errors.Is(err, syscall.EPROTO) && !tt.byDDP && !atEnd {
						t.Errorf("Read = %v, want EPROTO", err)
					}
					if de := (*ddp.Error)(nil); tt.byDDP && (!errors.As(err, &de) || de.Code == ddp.CodeULP) {
						t.Errorf("Read = %v, want an error of DDP", err)
					}
					if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EPROTO) && !tt.byDDP {
						t.Errorf("Write = %v, want EPROTO", err)
					}
					guard := bytes.Repeat([]byte{0xaa}, 1024)
					if !bytes.Equal(memory[:1024], guard) || !bytes.Equal(memory[2048:], guard) {
						t.Error("octets outside the reader's memory have changed")
					}
				})
			})
		}
	}
}

// TestStreamCreditsAreEnforced: short messages share memory while they are unread. Yet a peer may
// send only as many as it has credits for, whether the program reads them or not.
func TestStreamCreditsAreEnforced(t *testing.T) {
	for _, reads := range []bool{false, true} {
		t.Run(fmt.Sprintf("the program reads: %t", reads), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const depth, ours = 6, 4 // ours is how many messages may carry credits to the peer
				p, c := rawStreamPair(t, extsock.Config{RecvDepth: depth}, ours)
				var back atomic.Int64
				go func() {
					for {
						u, err := p.next()
						if err != nil {
							return
						}
						if h, m, err := ddp.ParseUntagged(u); err == nil && h.QN == ddp.QNSend {
							back.Add(int64(binary.BigEndian.Uint16(m[2:])))
						}
					}
				}()
				buf := make([]byte, 1<<10)
				sent, read := int64(0), int64(0)
				send := func() {
					p.segment(uint32(1+sent), 0, true, 0, 0, 0, 0, 'x')
					sent++
					synctest.Wait()
				}
				for sent < depth+back.Load() {
					send()
					if reads {
						n, err := c.Read(buf)
						if err != nil {
							t.Fatalf("Read after %d messages: %v", sent, err)
						}
						read += int64(n)
					}
				}
				if back.Load() < depth {
					t.Errorf("%d credits come back", back.Load())
				}
				send() // without a credit
				c.SetReadDeadline(time.Now().Add(time.Minute))
				var err error
				for err == nil {
					var n int
					n, err = c.Read(buf)
					read += int64(n)
				}
				if read != sent-1 || !errors.Is(err, syscall.EPROTO) {
					t.Errorf("read %d messages of %d, then %v, want EPROTO", read, sent, err)
				}
			})
		})
	}
}

// TestStreamCreditsOfTheUsed: a peer may give back the credits that were used, and not one more.
func TestStreamCreditsOfTheUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, excess := range []byte{0, 1} {
			p, c := rawStreamPair(t, extsock.Config{}, 32)
			p.segment(1, 0, true, 0, 0, 0, 0)
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := p.next(); err != nil {
				t.Fatal(err)
			}
			p.segment(2, 0, true, 0, 0, 0, 1+excess, 'y')
			if excess > 0 {
				p.wantStreamEnd()
				continue
			}
			if n, err := c.Read(make([]byte, 9)); n != 1 || err != nil {
				t.Errorf("Read = %d, %v", n, err)
			}
		}
	})
}

// TestStreamMessageInSegments: a message may come in many segments, whether a Read waits or not. A
// message that becomes too long ends the stream.
func TestStreamMessageInSegments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, waits := range []bool{false, true} {
			p, c := rawStreamPair(t, extsock.Config{RecvDepth: 6, RecvSize: 1024}, 32)
			buf, read := make([]byte, 2000), make(chan int, 1)
			wait := func() {
				n, err := c.Read(buf)
				if err != nil {
					t.Error(err)
				}
				read <- n
			}
			if waits {
				go wait()
			}
			p.segment(1, 0, false, 0)
			p.segment(1, 1, false, 0, 0)
			p.segment(1, 3, false, append([]byte{0}, tapeAt(0, 500)...)...)
			p.segment(1, 504, false)
			p.segment(1, 504, true, tapeAt(500, 520)...)
			if !waits {
				go wait()
			}
			if n := <-read; n != 1020 || !bytes.Equal(buf[:n], tapeAt(0, n)) {
				t.Errorf("got %d octets", n)
			}
			p.segment(2, 0, false, data(1000)...)
			p.segment(2, 1004, true, data(17)...)
			p.wantStreamEnd()
		}
	})
}

// TestStreamWriterKeepsToCredits: without credits only the end goes out, and messages are no longer
// than announced.
func TestStreamWriterKeepsToCredits(t *testing.T) {
	for _, credits := range []uint16{6, 7, 32} {
		bubble(t, func(t *testing.T) {
			p, c := rawStreamPair(t, extsock.Config{Crossover: -1}, credits)
			p.segment(1, 0, true, 0, 0, 0, 0)
			c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			n, err := c.Write(tapeAt(0, 1<<20))
			if want := (int(credits) - 2) * 4092; n != want || err == nil {
				t.Errorf("%d credits: Write = %d, %v, want %d octets", credits, n, err, want)
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
			for got := 0; ; {
				u, err := p.next()
				if err != nil {
					t.Fatal(err)
				}
				if ddp.IsTagged(u) {
					continue
				}
				h, payload, err := ddp.ParseUntagged(u)
				if err != nil || !h.Last || len(payload) < 4 || len(payload) > 4096 || !bytes.Equal(payload[4:], tapeAt(got, len(payload)-4)) {
					t.Fatalf("message of %d octets at %d: %v", len(payload), got, err)
				}
				got += len(payload) - 4
				if payload[1] == 1 {
					if got != n {
						t.Errorf("the end is behind %d octets of %d", got, n)
					}
					break
				}
			}
		})
	}
}

// TestSendInsideASend: a peer that begins a Send before its previous one has ended breaks the rule
// for the MSN, whatever the mode, and whether a Read waits or not. It causes no panic.
func TestSendInsideASend(t *testing.T) {
	for _, messages := range []bool{false, true} {
		for _, waits := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				p, c := (*rawPeer)(nil), (*extsock.Conn)(nil)
				if messages {
					p, c = rawPair(t, extsock.Config{}, nil)
				} else {
					p, c = rawStreamPair(t, extsock.Config{}, 16)
				}
				read := make(chan error, 1)
				begin := func() {
					go func() {
						_, err := c.Read(make([]byte, 1000))
						read <- err
					}()
				}
				if waits {
					begin()
					synctest.Wait()
				}
				p.segment(1, 0, false, data(100)...)
				synctest.Wait()
				p.segment(2, 0, true, data(10)...)
				p.wantStreamEnd()
				if !waits {
					begin()
				}
				var terminate *rdmap.TerminateError
				if err := <-read; !errors.As(err, &terminate) || terminate.Terminate.Code != 0x1203 {
					t.Errorf("in messages %t, a Read waits %t: Read = %v, want a Terminate for the MSN", messages, waits, err)
				}
				if n := c.Stats().Panics; n != 0 {
					t.Errorf("in messages %t, a Read waits %t: %d panics", messages, waits, n)
				}
			})
		}
	}
}
