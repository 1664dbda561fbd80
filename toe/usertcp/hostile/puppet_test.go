package hostile_test

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/usertcp"
)

// A puppet is a peer, over TCPs in user space, whose segments a test makes one by one.
type puppet struct {
	tx     *mpa.Sender     // of the peer
	c      *extsock.Conn   // the attacked end, in DDP mode
	stream *usertcp.Stream // of c
	out    *relay          // the peer's end of the link
	in     *meter          // the other end
	like   []byte          // a packet of the peer's
	begin  uint32          // the sequence number of the first FPDU
}

// newPuppet makes a connection whose attacked end has the Configs tcp and cfg.
func newPuppet(t testing.TB, tcp usertcp.Config, cfg extsock.Config) *puppet {
	t.Helper()
	x, y := usertcp.Pipe(1500)
	p := &puppet{out: &relay{Link: x}, in: newMeter(y)}
	a, b := userStreams(t, p.out, p.in, tcp)
	p.stream = b.(*usertcp.Stream)
	p.c = extsock.NewConn(b, false, &cfg)
	t.Cleanup(p.end)
	replies := make(chan mpa.Frame, 1)
	go func() {
		reply, err := rawpeer.Start(a, mpa.Frame{Revision: 1, CRC: true})
		if err != nil {
			t.Error(err)
		}
		replies <- reply
	}()
	if err := p.c.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	reply := <-replies
	p.tx = mpa.NewSender(mpa.Agreement{CRC: reply.CRC, TxMarkers: reply.Markers})
	p.like = p.out.template()
	p.begin = endOf(p.like)
	stamp := p.like[ipHeaderLen+tcpHeaderLen+4:]                             // the value of the timestamps option, after two NOPs
	binary.BigEndian.PutUint32(stamp, binary.BigEndian.Uint32(stamp)+10_000) // later than the peer's other timestamps
	p.in.mute(p.begin)
	return p
}

// fpdu returns the next FPDU of the stream, with the given ULPDU.
func (p *puppet) fpdu(ulpdu []byte) (stream []byte) { return rawpeer.FPDUs(p.tx, ulpdu) }

// end closes the attacked end. It uses Abort because nobody would answer an orderly end.
func (p *puppet) end() {
	p.stream.Abort()
	p.c.Close()
}

// segment returns a packet with payload at stream offset off.
func (p *puppet) segment(off int, payload []byte) []byte {
	return segmentLike(p.like, p.begin+uint32(off), payload)
}

// writes returns the FPDUs of RDMA Writes that fill h with data, of length bytes each, and of a
// Send after them.
func (p *puppet) writes(h rdmap.Handle, data []byte, length int) (stream []byte, fpdus []int) {
	for at := 0; at < len(data); at += length {
		fpdus = append(fpdus, len(stream))
		payload := data[at:min(at+length, len(data))]
		stream = append(stream, p.fpdu(prototest.Tagged(prototest.ControlTagged, h.STag, h.TO+uint64(at), payload))...)
	}
	fpdus = append(fpdus, len(stream))
	return append(stream, p.fpdu(prototest.Untagged(prototest.ControlUntagged|uint16(rdmap.OpSend), ddp.QNSend, 1, 0, []byte("over")))...), fpdus
}

// send sends packets, and waits from time to time until TCP has got them.
func (p *puppet) send(packets [][]byte) {
	const atOnce = 256
	for len(packets) > 0 {
		n := min(atOnce, len(packets))
		p.in.expect(n)
		p.out.inject(packets[:n]...)
		p.in.await()
		packets = packets[n:]
	}
}

// A meter is the end of a link that receives. It counts the packets that are read, and can stop all
// that are written.
type meter struct {
	usertcp.Link

	mu      sync.Mutex
	changed sync.Cond
	missing int    // packets to be read
	muted   bool   // nothing is sent
	sent    int    // packets written since then
	ack     uint32 // of the last one
}

func newMeter(l usertcp.Link) *meter {
	m := &meter{Link: l}
	m.changed.L = &m.mu
	return m
}

// Read reads a packet. The previous one has been processed.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Link.Read(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.missing--; m.missing == 0 {
		m.changed.Broadcast()
	}
	return n, err
}

// Write sends a packet, or only records its ACK.
func (m *meter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.muted {
		return m.Link.Write(p)
	}
	m.sent++
	m.ack = binary.BigEndian.Uint32(p[ipHeaderLen+8:])
	m.changed.Broadcast()
	return len(p), nil
}

// mute stops all packets that are written. TCP has acknowledged all bytes before the sequence
// number ack.
func (m *meter) mute(ack uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.muted, m.ack = true, ack
}

// expect says that n packets will be sent, for which await waits.
func (m *meter) expect(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing = n
}

func (m *meter) await() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.missing > 0 {
		m.changed.Wait()
	}
}

// awaitACK waits until TCP has acknowledged all bytes before the sequence number seq, and returns
// the number of packets that it has sent.
func (m *meter) awaitACK(seq uint32) (sent int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for int32(m.ack-seq) < 0 {
		m.changed.Wait()
	}
	return m.sent
}

// registered returns a Region of c that the peer may write to.
func registered(t testing.TB, c *extsock.Conn, memory []byte) rdmap.Handle {
	t.Helper()
	r, err := c.Register(memory, ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	return r.Handle()
}
