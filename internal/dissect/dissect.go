package dissect

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"
)

// maxConnections is the maximum number of connections that are remembered at a time.
const maxConnections = 1 << 16

// Read decodes a capture in pcap or pcapng format and calls emit with each record, in the order in
// which the packets that complete them were captured. emit may keep everything that a Record refers
// to, except FPDU.Payload.
//
// If emit returns an error, Read stops and returns that error unchanged. If the file is not a
// capture, or is damaged or truncated, Read returns a *FileError after the records of the packets
// before that point. An error in a single connection is not an error of Read: Read emits it as a
// record of KindError.
func Read(r io.Reader, emit func(Record) error) error {
	d := &dissector{emit: emit, connections: map[pair]*connection{}, fragmented: map[[2]netip.Addr]bool{}}
	fileErr := d.readPackets(r)
	if d.err == nil {
		d.finish()
		d.summarize(fileErr)
	}
	if d.err != nil {
		return d.err
	}
	return fileErr
}

// dissector is the state of one Read.
type dissector struct {
	emit func(Record) error
	err  error // from emit; nothing is emitted after it

	start, now  time.Time    // of the first packet, and of the current one
	packets     [unreads]int // by kind
	found       bool         // a record has been emitted
	connections map[pair]*connection
	fragmented  map[[2]netip.Addr]bool // source and destination of the IP fragments of TCP
	// the connections that forget may drop: they are over, or have shown no MPA frame so far
	spare      []*connection
	opened     int // connections so far
	overflowed bool
	waiting    int // octets that wait for missing ones, in all connections
}

// pair identifies a connection by its two ends, the lesser one first.
type pair [2]netip.AddrPort

func (d *dissector) readPackets(r io.Reader) error {
	source, err := openCapture(r)
	if err != nil {
		return &FileError{Err: err}
	}
	for n := 0; d.err == nil; n++ {
		p, err := source.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &FileError{Packet: n, Err: err}
		}
		if !knownLink(p.link) {
			return &FileError{Packet: n, Err: fmt.Errorf("%w: %d", ErrLinkType, p.link)}
		}
		if n == 0 {
			d.start = p.time
		}
		d.now = p.time
		d.packet(p)
	}
	return nil
}

func (d *dissector) packet(p packet) {
	s, why := p.segment()
	d.packets[why]++
	switch {
	case why == readable:
		if c, from := d.connection(s, p.time); c != nil {
			c.take(from, s, p.time)
		}
	case why == fragment && len(d.fragmented) < maxConnections:
		d.fragmented[[2]netip.Addr{s.src.Addr(), s.dst.Addr()}] = true
	}
}

// connection returns the connection that s belongs to, and which of its directions.
func (d *dissector) connection(s segment, t time.Time) (c *connection, from int) {
	key := pair{s.src, s.dst}
	if s.dst.Compare(s.src) < 0 {
		key, from = pair{s.dst, s.src}, 1
	}
	c = d.connections[key]
	if c != nil && s.syn && !s.ack && c.replacedBy(from, s.seq) {
		c.finish("the connection ends")
		d.keep(c)
		delete(d.connections, key)
		c = nil
	}
	if c != nil {
		return c, from
	}
	if len(d.connections) >= maxConnections {
		d.forget()
	}
	if len(d.connections) >= maxConnections {
		if !d.overflowed {
			d.overflowed = true
			d.record(Record{Time: t, Src: s.src, Dst: s.dst, Kind: KindError,
				Error: "too many connections at a time: this one and others after it are not decoded"})
		}
		return nil, 0
	}
	c = &connection{d: d, number: d.opened, key: key}
	d.opened++
	c.halves[0] = half{src: key[0], dst: key[1]}
	c.halves[1] = half{src: key[1], dst: key[0]}
	d.connections[key] = c
	d.offer(c)
	return c, from
}

// forget makes room: it drops the connections that are over, or have shown no MPA frame so far. It
// looks at no others, so the cost of a connection does not depend on their number.
func (d *dissector) forget() {
	for _, c := range d.spare {
		c.release()
		delete(d.connections, c.key)
	}
	clear(d.spare)
	d.spare = d.spare[:0]
}

// offer lets forget drop c, and keep forbids that again.
func (d *dissector) offer(c *connection) {
	if c.place == 0 {
		d.spare = append(d.spare, c)
		c.place = len(d.spare)
	}
}

func (d *dissector) keep(c *connection) {
	if c.place == 0 {
		return
	}
	n := len(d.spare)
	last := d.spare[n-1]
	d.spare[c.place-1], last.place = last, c.place
	d.spare[n-1], d.spare, c.place = nil, d.spare[:n-1], 0
}

// finish handles the end of the capture.
func (d *dissector) finish() {
	open := make([]*connection, 0, len(d.connections))
	for _, c := range d.connections {
		open = append(open, c)
	}
	slices.SortFunc(open, func(a, b *connection) int { return a.number - b.number })
	for _, c := range open {
		c.finish("the capture ends")
	}
}

// summarize emits a summary if it contains something that no other record has.
func (d *dissector) summarize(fileErr error) {
	s := d.summary()
	if s.UnreadPackets > 0 || !d.found && fileErr == nil {
		d.record(Record{Time: d.now, Kind: KindSummary, Summary: s})
	}
}

func (d *dissector) record(r Record) {
	if d.err != nil {
		return
	}
	d.found = true
	r.T = Seconds(r.Time.Sub(d.start))
	d.err = d.emit(r)
}
