package main

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// A sendingStream is the sender's Stream. It adds the FPDUs to the record before TCP gets them.
type sendingStream struct {
	toe.Stream
	record *record
	parser *mpa.Receiver

	startup atomic.Uint64 // bytes of MPA startup
	// Only the goroutine that writes uses these. They are stream offsets.
	taken  uint64 // TCP has accepted the bytes before it
	parsed uint64 // the parser has got the bytes before it
}

func newSendingStream(s toe.Stream, r *record) *sendingStream {
	p := mpa.NewReceiver(mpa.Agreement{CRC: true, RxMarkers: true})
	p.SetBuffer(make([]byte, 4*mpa.MinBuffer))
	return &sendingStream{Stream: s, record: r, parser: p}
}

// Write is used in MPA startup.
func (s *sendingStream) Write(p []byte) (n int, err error) {
	n, err = s.Stream.Write(p)
	s.startup.Add(uint64(n))
	return n, err
}

// TryWriteBatch passes to TCP as many bytes as it accepts. The others come again with the next
// call.
func (s *sendingStream) TryWriteBatch(bufs [][]byte) (n int, err error) {
	off := s.taken
	for _, b := range bufs {
		end := off + uint64(len(b))
		if end > s.parsed {
			s.parse(b[max(off, s.parsed)-off:])
		}
		off = end
	}
	n, err = s.Stream.TryWriteBatch(bufs)
	s.taken += uint64(n)
	return n, err
}

// parse takes the next bytes of the stream.
func (s *sendingStream) parse(p []byte) {
	for len(p) > 0 {
		n := copy(s.parser.Free(), p)
		s.parser.Fill(s.parsed, n)
		s.parsed += uint64(n)
		p = p[n:]
		for s.parser.Next() {
			s.record.add(s.parser.ULPDU())
		}
	}
}

// A receivingStream is the receiver's Stream. The connection has processed a run when it asks for
// the next one.
type receivingStream struct {
	toe.Stream
	record *record
	run    span // last result of ReadSegment
}

func (s *receivingStream) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	if s.run.len() > 0 {
		s.record.look(s.run)
	}
	n, off, err = s.Stream.ReadSegment(l, patience)
	s.run = span{off, off + uint64(n)}
	return n, off, err
}
