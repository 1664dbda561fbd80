package pcapng

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// Flow records one connection in a Writer's capture. To get causes before their effects in the
// capture, call Sent before writing the octets to the connection, and Received after reading them.
// The methods do not keep the slice.
type Flow struct {
	w             *Writer
	local, remote end  // guarded by w.mu
	closed        bool // guarded by w.mu
}

// A pair is the two ends of a connection, the lower address first.
type pair [2]netip.AddrPort

func (f *Flow) pair() pair {
	if f.remote.addr.Compare(f.local.addr) < 0 {
		return pair{f.remote.addr, f.local.addr}
	}
	return pair{f.local.addr, f.remote.addr}
}

// end is one end of the connection.
type end struct {
	addr  netip.AddrPort
	mac   [6]byte
	seq   uint32 // of the next octet that it sends
	acked uint32 // the last acknowledged number
	fpdus uint64 // octets of FPDUs with Markers that it has sent
}

// Sent records octets that the local end sends.
func (f *Flow) Sent(p []byte) { f.data(&f.local, &f.remote, [][]byte{p}) }

// Received records octets that came from the remote end.
func (f *Flow) Received(p []byte) { f.data(&f.remote, &f.local, [][]byte{p}) }

// SentFPDUs records whole FPDUs that the local end sends, all of them or, after the end of the
// Flow, none. The first begins at stream offset off; markers says whether they contain Markers.
//
// If the first recorded FPDU has Markers and is not the first of its direction, a reader would look
// for Markers at wrong places, because they are counted from the first octet after startup. Then
// SentFPDUs first adds a made-up FPDU of the same length, modulo 512, as the missing octets: an
// RDMA Write with STag 0 whose payload says what it is.
func (f *Flow) SentFPDUs(bufs [][]byte, off uint64, markers bool) {
	f.whole(&f.local, &f.remote, bufs, off, markers)
}

// ReceivedFPDUs records whole FPDUs that came from the remote end. See SentFPDUs.
func (f *Flow) ReceivedFPDUs(p []byte, off uint64, markers bool) {
	f.whole(&f.remote, &f.local, [][]byte{p}, off, markers)
}

// Closed records the end of the connection, as if the local end had closed first, and flushes the
// Writer. Further calls, and later octets, are ignored.
func (f *Flow) Closed() {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.writeLocked(&f.local, &f.remote, header{fin: true, ack: true}, nil)
	f.writeLocked(&f.remote, &f.local, header{fin: true, ack: true}, nil)
	f.writeLocked(&f.local, &f.remote, header{ack: true}, nil)
	f.w.forgetLocked(f) // +checklocksignore: f.w.mu is held
	f.w.flushLocked()
}

// Stop ends the Flow without recording the end of the connection, which continues. It flushes the
// Writer.
func (f *Flow) Stop() {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.w.forgetLocked(f) // +checklocksignore: f.w.mu is held
	f.w.flushLocked()
}

// IsOver reports whether recording has ended, because the Flow or its Writer has ended.
func (f *Flow) IsOver() bool {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.idleLocked()
}

// data records octets that belong together.
func (f *Flow) data(from, to *end, bufs [][]byte) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.idleLocked() {
		return
	}
	for _, p := range bufs {
		f.dataLocked(from, to, p, maxSegment)
	}
}

// idleLocked reports whether recording has ended.
//
// +checklocks:f.w.mu
func (f *Flow) idleLocked() bool { return f.closed || f.w.closed || f.w.err != nil }

// whole records FPDUs.
func (f *Flow) whole(from, to *end, bufs [][]byte, off uint64, markers bool) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.idleLocked() {
		return
	}
	if !markers {
		f.unmarkedLocked(from, to, slices.Concat(bufs...))
		return
	}
	if from.fpdus == 0 && off%MarkerInterval != 0 {
		f.markedLocked(from, to, Filler(off))
	}
	f.markedLocked(from, to, slices.Concat(bufs...))
}

// unmarkedLocked writes as many whole FPDUs to a packet as fit, and a longer FPDU to separate
// packets, because Wireshark loses an FPDU if only its first few octets are at the end of a packet.
//
// +checklocks:f.w.mu
func (f *Flow) unmarkedLocked(from, to *end, p []byte) {
	for len(p) > 0 {
		n := 0 // octets of the packet
		for n < len(p) {
			size, ok := FPDULen(p[n:], 0, false)
			if !ok || size > len(p)-n {
				size = len(p) - n
			}
			if n > 0 && n+size > maxSegment {
				break
			}
			n += size
		}
		f.dataLocked(from, to, p[:n], maxSegment)
		p = p[n:]
	}
}

// markedLocked writes each FPDU to a separate packet, because Wireshark needs that to understand
// Markers.
//
// +checklocks:f.w.mu
func (f *Flow) markedLocked(from, to *end, p []byte) {
	for len(p) > 0 {
		n, ok := FPDULen(p, from.fpdus, true)
		if n = min(n, len(p)); !ok {
			n = len(p)
		}
		f.dataLocked(from, to, p[:n], maxMarked)
		from.fpdus += uint64(n)
		p = p[n:]
	}
}

// Filler makes up an FPDU with Markers that begins at stream offset 0 and ends where another may
// begin: at off, modulo 512.
func Filler(off uint64) []byte {
	header := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite)}.AppendTo(nil)
	text := []byte(strings.Repeat("made up by rddp: the capture begins here. ", 16))
	batch := mpa.NewBatch(512 << 10)
	for n := 0; n < len(text); n++ {
		s := mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: true})
		s.Append(batch, true, header, text[:n])
		if (s.Off()-off)%MarkerInterval == 0 {
			return slices.Concat(batch.Bufs()...)
		}
		batch.Reset()
	}
	return nil
}

// dataLocked cuts p into packets of at most most octets.
//
// +checklocks:f.w.mu
func (f *Flow) dataLocked(from, to *end, p []byte, most int) {
	for len(p) > 0 {
		n := min(len(p), most)
		f.writeLocked(from, to, header{ack: true, psh: n == len(p)}, p[:n])
		p = p[n:]
		if from.seq-to.acked >= ackEvery {
			f.writeLocked(to, from, header{ack: true}, nil)
		}
	}
}

// writeLocked writes one packet with the flags in h.
//
// +checklocks:f.w.mu
func (f *Flow) writeLocked(from, to *end, h header, payload []byte) {
	h.seq = from.seq
	if h.ack {
		h.acked = to.seq
		from.acked = to.seq
	}
	from.seq += uint32(len(payload))
	if h.syn || h.fin {
		from.seq++
	}
	f.w.packetLocked(from, to, h, payload)
}
