package hostile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// TestSendsWithoutBuffers: of 1,000,000 Sends to an application that has posted no buffer, the
// first ends the stream with Untagged Buffer Error 0x02, and none takes memory. Together they take
// at most 2 MiB, which the connection borrows to receive and to send the Terminate. Without the tag
// conformance there are 50,000.
//
// DDP-5041-7.2-9
func TestSendsWithoutBuffers(t *testing.T) {
	n := testmode.Count(1_000_000, 50_000)
	cq := extsock.NewCompletionQueue(16)
	p, c := connected(t, extsock.Config{RecvCQ: cq}, nil, nil)
	sends := make([][]byte, n)
	for i := range sends {
		sends[i] = p.aSend()
	}
	flood := p.fpdus(sends...)
	before := allocated()
	wrote := make(chan error, 1)
	go func() { _, err := p.Write(flood); wrote <- err }()
	layer, etype, code, err := p.terminate()
	if err != nil || layer != 1 || etype != 2 || code != 2 {
		t.Errorf("Terminate with layer %d, type %d, code %d, %v; want 1, 2, 2", layer, etype, code, err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("the Sends could not all be written: %v", err)
	}
	grown := allocated() - before
	t.Logf("%d Sends, %d octets: %d octets allocated meanwhile", n, len(flood), grown)
	if !testmode.Race && grown > 2<<20 {
		t.Errorf("%d octets allocated for Sends that nobody wants", grown)
	}
	if got := c.Stats().Received.FPDUs; got != 1 {
		t.Errorf("%d FPDUs were taken in, want the first", got)
	}
	p.Close()
	c.Close()
}

// TestCompletionQueueOverflow: a work request that would overflow a completion queue is refused,
// and a message of the peer that would do so ends its own stream. A stream with another completion
// queue loses no Completion.
func TestCompletionQueueOverflow(t *testing.T) {
	const depth = 4
	rounds := testmode.Count(20_000, 1000)
	srq, cq := rdmap.NewSharedReceiveQueue(64), extsock.NewCompletionQueue(depth)
	victim := extsock.Config{SRQ: srq, RecvCQ: cq, Messages: true}
	sends := extsock.NewCompletionQueue(depth)
	attacker, attacked := pair(t, extsock.Config{Messages: true, SendCQ: sends}, victim)
	for i := range 64 {
		if err := srq.PostRecv(rdmap.RecvRequest{ID: uint64(i), Buf: make([]byte, 64)}); err != nil {
			t.Fatal(err)
		}
	}
	// The other stream: Sends and their Completions on both sides.
	otherCQ := extsock.NewCompletionQueue(64)
	a, b := pair(t, extsock.Config{Messages: true}, extsock.Config{Messages: true, RecvCQ: otherCQ, RecvDepth: 64})
	buf := make([]byte, 64)
	for i := range 64 {
		if err := b.PostRecv(rdmap.RecvRequest{ID: uint64(i), Buf: buf}); err != nil {
			t.Fatal(err)
		}
	}
	lost, window := make(chan error, 1), make(chan struct{}, 32) // iWARP has no flow control for Sends
	go func() {
		for i := range rounds {
			d, err := otherCQ.Wait(timeLimit(t))
			if err != nil || d.Status != rdmap.StatusOK || d.ID != uint64(i%64) {
				lost <- fmt.Errorf("Completion %d is %v, %w", i, d, err)
				return
			}
			if err := b.PostRecv(rdmap.RecvRequest{ID: d.ID, Buf: buf}); err != nil {
				lost <- err
				return
			}
			<-window
		}
		lost <- nil
	}()
	go func() {
		for range rounds {
			window <- struct{}{}
			if _, err := a.Write([]byte("x")); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	// Outbound: the queue is not polled, so the fifth is refused.
	refused := 0
	for i := range 2 * depth {
		err := attacker.Post(&rdmap.WorkRequest{ID: uint64(i), Op: rdmap.WorkSend, Data: []byte("x")})
		if errors.Is(err, rdmap.ErrCompletionQueueFull) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != depth {
		t.Errorf("%d of %d posts were refused, want %d", refused, 2*depth, depth)
	}
	// Inbound: those four have filled the attacked side's queue, so the next Send ends its stream.
	var done [1]rdmap.Completion
	waitFor(t, "a Send completes", func() bool { return sends.Poll(done[:]) == 1 })
	if err := attacker.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := attacker.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the attacker reads %v, want a Terminate", err)
	}
	for range depth {
		d, err := cq.Wait(timeLimit(t))
		if err != nil || d.Status != rdmap.StatusOK {
			t.Errorf("the attacked side's Completion is %v, %v", d, err)
		}
	}
	attacked.Close()
	if err := <-lost; err != nil {
		t.Errorf("the other stream: %v", err)
	}
	t.Logf("%d posts refused, one stream ended, 0 of %d Completions of the other lost", refused, rounds)
}

// record returns the capability record of an rddp end with the byte stream that claims credits
// buffers of size octets.
func record(credits uint16, size uint32) []byte {
	b := []byte{
		'r', 'd', 'd', 'p', 2, 20, 0, 7, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size),
		byte(credits >> 8), byte(credits), 0, 0,
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// A purse holds the credits of a peer that uses the byte stream.
type purse struct {
	p       *peer
	credits int
	heard   byte // messages of the other end whose credits are returned with the next message
}

// await reads until there are n credits.
func (b *purse) await(n int) error {
	for b.credits < n {
		if err := b.message(); err != nil {
			return err
		}
	}
	return nil
}

// message reads up to the end of the next message, and takes its credits.
func (b *purse) message() error {
	for {
		u, err := b.p.next()
		if err != nil {
			return err
		}
		if ddp.IsTagged(u) {
			continue
		}
		if h, m, err := ddp.ParseUntagged(u); err == nil && h.QN == ddp.QNSend {
			b.credits += int(binary.BigEndian.Uint16(m[2:]))
			b.heard++
			return nil
		}
	}
}

// TestToleratedMessages: 100,000 messages without contents (empty Sends, Writes and Reads, byte
// stream messages with only a header) use up no buffers: afterwards as many messages as before find
// one. Without the tag conformance there are 2,000.
func TestToleratedMessages(t *testing.T) {
	n := testmode.Count(100_000, 2000)
	const depth = 8
	for _, tt := range []struct {
		desc   string
		cfg    extsock.Config
		record []byte
		empty  func(p *peer, back byte) [][]byte // back is the number of returned credits
		whole  []byte                            // a message with contents
		reads  int                               // the number of Reads for one of the empty messages
	}{
		{"messages", extsock.Config{Messages: true, RecvDepth: depth}, nil, func(p *peer, _ byte) [][]byte {
			return [][]byte{p.aSend(), aWrite()}
		}, []byte("octets"), 1},
		{"byte stream", extsock.Config{RecvDepth: depth}, record(32, 4096), func(p *peer, back byte) [][]byte {
			return [][]byte{p.aSend(0, 0, 0, back), aWrite()}
		}, []byte("\x00\x00\x00\x00octets"), 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			p, c := connected(t, tt.cfg, tt.record, nil)
			b := &purse{p: p, credits: depth}
			needs := func(n int) {
				if tt.record == nil { // messages need no credits
					return
				}
				if err := b.await(n); err != nil {
					t.Fatal(err)
				}
			}
			if tt.record == nil {
				go io.Copy(io.Discard, p.in)
			}
			read := make(chan error, 1)
			go func() {
				for range n / 2 * tt.reads {
					if k, err := c.Read(make([]byte, 64)); k != 0 || err != nil {
						read <- fmt.Errorf("Read = %d, %w", k, err)
						return
					}
				}
				read <- nil
			}()
			for sent := 0; sent < n; sent += 2 {
				needs(1)
				if _, err := p.Write(p.fpdus(tt.empty(p, b.heard)...)); err != nil {
					t.Fatal(err)
				}
				b.credits, b.heard = b.credits-1, 0
			}
			if err := <-read; err != nil {
				t.Fatal(err)
			}
			// All buffers are there: that many messages wait at once for a Read. Credits are
			// returned in batches. A message of the program also returns those that no batch has
			// returned yet.
			waitFor(t, "the empty messages are there", func() bool { return c.Stats().Received.Sends == uint64(n/2) })
			for tt.record != nil && b.credits < depth {
				if _, err := c.Write([]byte("octet")); err != nil {
					t.Fatal(err)
				}
				if err := b.message(); err != nil {
					t.Fatal(err)
				}
			}
			for range depth {
				if _, err := p.Write(p.fpdus(p.aSend(tt.whole...))); err != nil {
					t.Fatal(err)
				}
			}
			waitFor(t, "the messages are there", func() bool {
				return c.Stats().Received.Sends == uint64(n/2+depth)
			})
			for range depth {
				b := make([]byte, 6)
				if _, err := io.ReadFull(c, b); err != nil || string(b) != "octets" {
					t.Fatalf("Read %q, %v", b, err)
				}
			}
			p.Close()
			c.Close()
		})
	}
	t.Logf("%d empty messages used up no buffer", n)
}

// TestInflatedCredits: a peer that claims 65,535 buffers of 4 GiB makes us hold no more memory than
// one with the usual claim, and gets no message longer than an FPDU. The connection of a peer that
// returns credits that it has not taken ends.
func TestInflatedCredits(t *testing.T) {
	cost := func(r []byte) int64 {
		n := int64(testmode.Count(200, 100))
		before := leastInUse()
		var conns []*extsock.Conn
		var peers []*peer
		for range n {
			p, c := connected(t, extsock.Config{}, r, nil)
			p.rx, p.in = nil, nil // the peer's memory is not measured
			peers, conns = append(peers, p), append(conns, c)
		}
		grown := (leastInUse() - before) / n
		for i := range conns {
			peers[i].Close()
			conns[i].Close()
		}
		return grown
	}
	cost(record(32, 64<<10))
	usual, inflated := cost(record(32, 64<<10)), cost(record(65535, 1<<32-1))
	for range 2 { // memory that ended connections have not yet released counts for the next ones, and varies
		inflated = min(inflated, cost(record(65535, 1<<32-1)))
	}
	t.Logf("%d octets for a connection whose peer claims 32 buffers of 64 KiB, %d for 65,535 of 4 GiB", usual, inflated)
	if !testmode.Race && inflated > usual+4<<10 {
		t.Errorf("inflated credits take %d octets, usual ones %d", inflated, usual)
	}
	p, c := connected(t, extsock.Config{Crossover: -1}, record(65535, 1<<32-1), nil)
	if _, err := p.Write(p.fpdus(p.aSend(0, 0, 0, 0))); err != nil { // opens the fence
		t.Fatal(err)
	}
	go c.Write(make([]byte, 1<<20))
	for got := 0; got < 1<<20; {
		u, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		_, payload, err := ddp.ParseUntagged(u)
		if err != nil || len(u) > mpa.MaxULPDU {
			t.Fatalf("a ULPDU of %d octets, %v", len(u), err)
		}
		got += max(len(payload)-4, 0)
	}
	if _, err := p.Write(p.fpdus(p.aSend(0, 0, 0xff, 0xff))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.EPROTO) {
		t.Errorf("after credits that were not taken: %v, want EPROTO", err)
	}
	p.Close()
	c.Close()
}
