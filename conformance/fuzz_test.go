package conformance_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// repeated is a random source that is none: every Domain gives its k-th Region the same STag and
// TO.
type repeated struct{}

func (repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i) | 1
	}
	return len(p), nil
}

// rddpRecord is the capability record of an rddp end: a byte stream, messages of 4096 octets, 32
// credits.
var rddpRecord = []byte{'r', 'd', 'd', 'p', 2, 20, 0, 7, 0, 0, 0x10, 0, 0, 32, 0, 0, 0x3e, 0x95, 0xbe, 0x9a}

// byteStreams are messages of the byte stream: data and its end; an offer that is canceled; one
// that is said to be done; a grant of what was not offered.
var byteStreams = [][]string{
	{"\x00\x00\x00\x00hello", "\x00\x00\x00\x00", "\x00\x01\x00\x00world"},
	{"\x01\x00\x00\x00\x00\x00\x10\x00", "\x04\x00\x00\x00", "\x00\x01\x00\x00x"},
	{"\x01\x00\x00\x00\x00\x00\x04\x00", "\x03\x00\x00\x00\x00\x00\x04\x00", "\x00\x01\x00\x00"},
	{"\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01"},
}

// maxPeer bounds what a peer sends in one run, in octets.
const maxPeer = 64 << 10

// FuzzConnection feeds a whole connection, startup included, with what a peer may send: in is one
// direction of it, from the first octet. initiator says which part this end plays. With fix each
// FPDU gets the CRC that it should have, and what it says of memory becomes the Region's, so that
// what lies behind those checks is reached. Whatever comes: no panic, no octet outside the Region
// changes, each accepted request completes exactly once, and Close ends it. The seeds are the
// connections of Linux siw.
func FuzzConnection(f *testing.F) {
	for _, in := range siwStreams(f) {
		for _, fix := range []bool{false, true} {
			f.Add(in.octets, in.fromResponder, fix, true)
		}
	}
	// What reaches over an end of the Region, with all that repair does for it.
	request := mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil)
	for _, to := range []uint64{0, 4095} {
		h := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: 2, TO: to}
		f.Add(append(bytes.Clone(request), framed(append(h.AppendTo(nil), "octets"...))...), false, true, true)
		u := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: 1}
		read := rdmap.ReadRequest{SinkSTag: 1, Size: 8, SourceSTag: 2, SourceTO: to}
		f.Add(append(bytes.Clone(request), framed(read.AppendTo(u.AppendTo(nil)))...), false, true, true)
	}
	for _, sends := range byteStreams {
		in := mpa.Frame{Revision: 1, CRC: true, PrivateData: rddpRecord}.AppendTo(nil)
		for i, m := range sends {
			h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), MSN: uint32(i + 1)}
			in = append(in, framed(append(h.AppendTo(nil), m...))...)
		}
		f.Add(in, false, true, false)
	}
	f.Fuzz(func(t *testing.T, in []byte, initiator, fix, messages bool) {
		if len(in) > maxPeer {
			return
		}
		// What hangs is a fault, too, and the fuzzer keeps what it panics on. It takes
		// milliseconds.
		defer time.AfterFunc(20*time.Second, func() { panic("the connection has not ended") }).Stop()
		const guard, size = 64, 4096
		memory := bytes.Repeat([]byte{0xaa}, guard+size+guard)
		domain := &ddp.Domain{Random: repeated{}}
		peer, ours := simtoe.Pair(simtoe.Config{Window: 1 << 20}, simtoe.Config{Window: 1 << 20})
		c := extsock.NewConn(ours, initiator, &extsock.Config{
			Domain: domain, Extensions: true, HandshakeTimeout: 5 * time.Second, CloseTimeout: 5 * time.Second,
			Messages: messages,
		})
		r, err := c.Register(memory[guard:][:size:size], ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
		if err != nil {
			t.Fatal(err)
		}
		if fix {
			in = bytes.Clone(in)
			repair(in, r.Handle())
		}
		drained := make(chan struct{})
		go func() { // the peer
			at := 0
			if n, err := mpa.FrameLen(in[:min(len(in), mpa.FrameHeaderLen)]); err == nil && !initiator && n <= len(in) {
				// FPDUs may follow a Request only once the Reply has come (RFC 5044 §7.1.2).
				_, _ = peer.Write(in[:n])
				_, _ = peer.Read(make([]byte, 1))
				at = n
			}
			_, _ = peer.Write(in[at:]) // our end may be gone already
			_ = peer.CloseWrite()
			_, _ = io.Copy(io.Discard, peer)
			close(drained)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		accepted := 0
		if c.EnableDDP(ctx, nil) == nil {
			accepted = use(t, c)
		}
		if err := c.Close(); err != nil && ctx.Err() != nil {
			t.Errorf("Close: %v", err)
		}
		for range accepted {
			if _, err := c.SendCQ().Wait(ctx); err != nil {
				t.Fatalf("of %d requests some have not completed: %v", accepted, err)
			}
		}
		if more := make([]rdmap.Completion, 8); c.SendCQ().Poll(more) > 0 {
			t.Errorf("more Completions than the %d requests: %v", accepted, more)
		}
		peer.Close()
		<-drained
		for _, b := range [][]byte{memory[:guard], memory[guard+size:]} {
			if !bytes.Equal(b, bytes.Repeat([]byte{0xaa}, guard)) {
				t.Error("octets outside the Region have changed")
			}
		}
	})
}

// use does with a connection what a program does, until it ends, and returns how many requests were
// accepted.
func use(t *testing.T, c *extsock.Conn) (accepted int) {
	h := rdmap.Handle{STag: 1, TO: 4096, Len: 64}
	for _, wr := range []rdmap.WorkRequest{
		{Op: rdmap.WorkRead, Data: make([]byte, 16), Remote: h},
		{Op: rdmap.WorkFetchAdd, Remote: h, Operand: 1},
		{Op: rdmap.WorkWrite, Data: make([]byte, 32), Remote: h},
	} {
		if c.Post(&wr) == nil {
			accepted++
		}
	}
	b := make([]byte, 1<<10)
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return accepted // it has ended
	}
	for total := 0; total <= 2*maxPeer; {
		n, err := c.Read(b)
		if err != nil {
			return accepted
		}
		total += max(n, 1)
	}
	t.Error("Read gives more than the peer can have sent")
	return accepted
}

// A stream is one direction of a captured connection, from its first octet.
type stream struct {
	octets        []byte
	fromResponder bool
}

// siwStreams returns the directions of the captured connections that are short enough, as MPA
// frames again.
func siwStreams(f *testing.F) (streams []stream) {
	files, err := filepath.Glob(filepath.Join(siwCaptures, "*.pcap"))
	if err != nil || len(files) == 0 {
		f.Fatalf("%d captures, %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range directions(f, b) {
			if len(s.octets) <= 8<<10 {
				streams = append(streams, s)
			}
		}
	}
	if len(streams) < 20 {
		f.Fatalf("only %d streams are short enough to be seeds", len(streams))
	}
	return streams
}

// directions returns what the two ends of each connection in a capture have sent: classic pcap,
// Ethernet, IPv4, as testdata/README.md has it. The end that sends the MPA Request is the
// Initiator.
func directions(f *testing.F, file []byte) (streams []stream) {
	type flow struct {
		next   uint32 // sequence number
		octets []byte
	}
	const ethernet, ipv4, syn = 14, 20, 2
	flows := make(map[[12]byte]*flow)
	var order []*flow
	for b := file[24:]; len(b) >= 16; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		packet := b[16:][:n]
		b = b[16+n:]
		ip := packet[ethernet:]
		if len(ip) < ipv4 || ip[0] != 0x45 || ip[9] != 6 {
			f.Fatalf("a packet that is not TCP over IPv4 without options: %x", ip)
		}
		tcp := ip[ipv4:binary.BigEndian.Uint16(ip[2:])]
		seq, payload := binary.BigEndian.Uint32(tcp[4:]), tcp[tcp[12]>>4*4:]
		key := [12]byte(append(bytes.Clone(ip[12:20]), tcp[:4]...))
		d := flows[key]
		if d == nil || tcp[13]&syn != 0 {
			d = &flow{next: seq}
			flows[key] = d
			order = append(order, d)
		}
		if tcp[13]&syn != 0 {
			d.next = seq + 1
		}
		if seq == d.next { // else it comes again
			d.octets = append(d.octets, payload...)
			d.next += uint32(len(payload))
		}
	}
	for _, d := range order {
		if len(d.octets) >= mpa.FrameHeaderLen {
			streams = append(streams, stream{d.octets, bytes.HasPrefix(d.octets, []byte("MPA ID Rep Frame"))})
		}
	}
	return streams
}

// framed makes an FPDU, without Markers, of a ULPDU.
func framed(ulpdu []byte) []byte {
	return rawpeer.FPDUs(mpa.NewSender(mpa.Agreement{CRC: true}), ulpdu)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// repair makes the FPDUs behind the startup frame name the Region h, where the STag is even, and
// gives each the right CRC.
func repair(in []byte, h rdmap.Handle) {
	at, err := mpa.FrameLen(in[:min(len(in), mpa.FrameHeaderLen)])
	if err != nil || at > len(in) {
		return
	}
	for b := in[at:]; len(b) >= 2; {
		n := int(binary.BigEndian.Uint16(b))
		body := (2 + n + 3) &^ 3
		if body+4 > len(b) {
			return
		}
		aim(b[2:2+n], h)
		binary.LittleEndian.PutUint32(b[body:], crc32.Checksum(b[:body], castagnoli))
		b = b[body+4:]
	}
}

// aim makes a segment name the Region h: a tagged one as its target, a Read or Atomic Request as
// what it is about.
func aim(ulpdu []byte, h rdmap.Handle) {
	at := 2
	if !ddp.IsTagged(ulpdu) {
		u, _, err := ddp.ParseUntagged(ulpdu)
		if err != nil || u.QN != ddp.QNReadRequest {
			return
		}
		at = ddp.UntaggedHeaderLen + 16 // behind the sink's STag, TO and the size
		if op, _ := rdmap.ParseControl(u.RsvdULP); op == rdmap.OpAtomicRequest {
			at = ddp.UntaggedHeaderLen + 8
		}
	}
	if len(ulpdu) < at+12 || ulpdu[at+3]%2 != 0 {
		return
	}
	binary.BigEndian.PutUint32(ulpdu[at:], uint32(h.STag))
	to := binary.BigEndian.Uint64(ulpdu[at+4:])
	binary.BigEndian.PutUint64(ulpdu[at+4:], h.TO+to%(1<<12))
}
