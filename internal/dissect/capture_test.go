package dissect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"
)

// block makes a pcapng block.
func block(order binary.AppendByteOrder, kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	total := uint32(len(body) + 12)
	b := order.AppendUint32(nil, kind)
	b = order.AppendUint32(b, total)
	b = append(b, body...)
	return order.AppendUint32(b, total)
}

func section(order binary.AppendByteOrder) []byte {
	body := order.AppendUint32(nil, 0x1A2B3C4D)
	body = order.AppendUint16(body, 1)
	body = order.AppendUint16(body, 0)
	return block(order, pcapngSection, append(body, bytes.Repeat([]byte{0xFF}, 8)...))
}

func interfaceBlock(order binary.AppendByteOrder, link uint16, snap uint32, options ...byte) []byte {
	body := order.AppendUint16(nil, link)
	body = order.AppendUint16(body, 0)
	body = order.AppendUint32(body, snap)
	return block(order, blockInterface, append(body, options...))
}

func enhanced(order binary.AppendByteOrder, number uint32, stamp uint64, data []byte) []byte {
	body := order.AppendUint32(nil, number)
	body = order.AppendUint32(body, uint32(stamp>>32))
	body = order.AppendUint32(body, uint32(stamp))
	body = order.AppendUint32(body, uint32(len(data)))
	body = order.AppendUint32(body, uint32(len(data)))
	return block(order, blockEnhancedPacket, append(body, data...))
}

func TestPcapngBlocks(t *testing.T) {
	data := []byte("packet")
	at := time.Unix(1700000000, 123456789).UTC()
	for name, order := range map[string]binary.AppendByteOrder{"little-endian": binary.LittleEndian, "big-endian": binary.BigEndian} {
		option := func(code uint16, value ...byte) []byte {
			b := order.AppendUint16(nil, code)
			b = order.AppendUint16(b, uint16(len(value)))
			return append(append(b, value...), make([]byte, -len(value)&3)...)
		}
		offset := make([]byte, 8)
		order.(binary.ByteOrder).PutUint64(offset, 1000)
		obsolete := order.AppendUint16(nil, 0)
		obsolete = order.AppendUint16(obsolete, 7) // drops
		micros := uint64(at.UnixMicro())
		obsolete = order.AppendUint32(obsolete, uint32(micros>>32))
		obsolete = order.AppendUint32(obsolete, uint32(micros))
		obsolete = order.AppendUint32(obsolete, uint32(len(data)))
		obsolete = order.AppendUint32(obsolete, uint32(len(data))+1)
		simple := append(order.AppendUint32(nil, 100), data...)

		ethernet, epoch, atMicro := interfaceBlock(order, 1, 0), time.Unix(0, 0).UTC(), at.Truncate(time.Microsecond)
		fine := interfaceBlock(order, 276, 0, option(9, 9)...)
		binary10 := interfaceBlock(order, 1, 0, option(9, 0x80|10)...)
		impossible := interfaceBlock(order, 1, 0, option(9, 0xFF)...)
		later := interfaceBlock(order, 1, 0, append(option(14, offset...), option(0)...)...)
		unknown, statistics := block(order, 0xBAD, nil), block(order, 5, []byte("statistics"))
		now, zero := enhanced(order, 0, micros, data), enhanced(order, 0, 0, data)

		for _, tt := range []struct {
			desc string
			file [][]byte
			link uint16
			time time.Time
			cut  bool
		}{
			{"microseconds by default", [][]byte{ethernet, now}, 1, atMicro, false},
			{"nanoseconds", [][]byte{fine, enhanced(order, 0, uint64(at.UnixNano()), data)}, 276, at, false},
			{"units of 2^-10 s", [][]byte{binary10, enhanced(order, 0, 5<<10|512, data)}, 1, time.Unix(5, 5e8).UTC(), false},
			{"units that can't be", [][]byte{impossible, now}, 1, atMicro, false},
			{"an offset", [][]byte{later, zero}, 1, time.Unix(1000, 0).UTC(), false},
			{"the second interface", [][]byte{ethernet, interfaceBlock(order, 101, 0), enhanced(order, 1, 0, data)}, 101, epoch, false},
			{"a long unknown block", [][]byte{block(order, 0xBAD, make([]byte, 2*maxBlock)), ethernet, zero}, 1, epoch, false},
			{"unknown blocks", [][]byte{unknown, ethernet, statistics, zero}, 1, epoch, false},
			{"obsolete packet block", [][]byte{ethernet, block(order, blockObsoletePacket, append(obsolete, data...))}, 1, atMicro, true},
			{"simple packet block", [][]byte{interfaceBlock(order, 1, 6), block(order, blockSimplePacket, simple)}, 1, epoch, true},
		} {
			t.Run(name+"/"+tt.desc, func(t *testing.T) {
				file := append(section(order), bytes.Join(tt.file, nil)...)
				source, err := openCapture(bytes.NewReader(file))
				if err != nil {
					t.Fatal(err)
				}
				p, err := source.next()
				if err != nil || !bytes.Equal(p.data, data) || p.link != tt.link || !p.time.Equal(tt.time) || p.cut != tt.cut {
					t.Errorf("next() = %q, link %d, %v, cut %t, %v; want %q, link %d, %v, cut %t",
						p.data, p.link, p.time, p.cut, err, data, tt.link, tt.time, tt.cut)
				}
				if _, err := source.next(); err != io.EOF { //nolint:errorlint // the very value is promised
					t.Errorf("after the last packet: %v, want io.EOF", err)
				}
				for n := 1; n < len(file)-1; n += 1 + len(file)/1000 {
					records, err := readAll(file[:n])
					var fe *FileError
					if err != nil && !errors.As(err, &fe) || len(records) > 0 && records[0].Kind != KindSummary {
						t.Errorf("the first %d bytes: %v, %d records", n, err, len(records))
					}
				}
			})
		}
	}
}

func TestMalformedFiles(t *testing.T) {
	le := binary.LittleEndian
	ng := func(blocks ...[]byte) []byte { return append(section(le), bytes.Join(blocks, nil)...) }
	set := func(b []byte, at int, v ...byte) []byte { copy(b[at:], v); return b }
	pcap := func() []byte { return joinFile(t, []packet{{data: []byte("packet"), time: time.Unix(1, 0)}}) }
	for _, tt := range []struct {
		desc string
		file []byte
		want error
	}{
		{"empty", nil, ErrNotCapture},
		{"three bytes", []byte{0xD4, 0xC3, 0xB2}, ErrNotCapture},
		{"text", []byte("this is no capture"), ErrNotCapture},
		{"pcap: version", set(pcap(), 4, 9), ErrMalformed},
		{"pcap: half a header", pcap()[:20], ErrTruncated},
		{"pcap: half a packet header", pcap()[:30], ErrTruncated},
		{"pcap: half a packet", pcap()[:43], ErrTruncated},
		{"pcap: a packet of 4 GiB", set(pcap(), 24+8, 255, 255, 255, 255), ErrMalformed},
		{"pcap: link type", set(pcap(), 20, 99), ErrLinkType},
		{"pcapng: byte order mark", set(ng(), 8, 9), ErrMalformed},
		{"pcapng: version", set(ng(), 12, 9), ErrMalformed},
		{"pcapng: section of 12 bytes", set(ng(), 4, 12), ErrMalformed},
		{"pcapng: half a block", ng(interfaceBlock(le, 1, 0))[:34], ErrTruncated},
		{"pcapng: half a block header", ng(interfaceBlock(le, 1, 0))[:33], ErrTruncated},
		{"pcapng: block of 8 bytes", set(ng(interfaceBlock(le, 1, 0)), 28+4, 8), ErrMalformed},
		{"pcapng: block of 4 GiB", set(ng(interfaceBlock(le, 1, 0)), 28+4, 252, 255, 255, 255), ErrMalformed},
		{"pcapng: odd block length", set(ng(interfaceBlock(le, 1, 0)), 28+4, 21), ErrMalformed},
		{"pcapng: second length differs", set(ng(interfaceBlock(le, 1, 0)), 28+16, 24), ErrMalformed},
		{"pcapng: second length of an unknown block differs", set(ng(block(le, 0xBAD, make([]byte, 8))), 28+16, 24), ErrMalformed},
		{"pcapng: unknown block of 4 GiB", set(ng(block(le, 0xBAD, make([]byte, 8))), 28+4, 252, 255, 255, 255), ErrTruncated},
		{"pcapng: interface of 4 bytes", ng(block(le, blockInterface, make([]byte, 4))), ErrMalformed},
		{"pcapng: option beyond the block", ng(interfaceBlock(le, 1, 0, 9, 0, 200, 0)), ErrMalformed},
		{"pcapng: no interface", ng(enhanced(le, 0, 0, nil)), ErrMalformed},
		{"pcapng: interface 7", ng(interfaceBlock(le, 1, 0), enhanced(le, 7, 0, nil)), ErrMalformed},
		{"pcapng: short packet block", ng(interfaceBlock(le, 1, 0), block(le, blockEnhancedPacket, make([]byte, 8))), ErrMalformed},
		{"pcapng: short obsolete block", ng(interfaceBlock(le, 1, 0), block(le, blockObsoletePacket, make([]byte, 8))), ErrMalformed},
		{"pcapng: short simple block", ng(interfaceBlock(le, 1, 0), block(le, blockSimplePacket, nil)), ErrMalformed},
		{"pcapng: simple block, no interface", ng(block(le, blockSimplePacket, make([]byte, 8))), ErrMalformed},
		{"pcapng: simple block too short", ng(interfaceBlock(le, 1, 0), block(le, blockSimplePacket, []byte{9, 0, 0, 0})), ErrMalformed},
		{"pcapng: packet longer than its block", set(ng(interfaceBlock(le, 1, 0), enhanced(le, 0, 0, make([]byte, 4))),
			28+20+8+12, 5), ErrMalformed},
		{"pcapng: link type", ng(interfaceBlock(le, 99, 0), enhanced(le, 0, 0, nil)), ErrLinkType},
	} {
		records, err := readAll(tt.file)
		var fe *FileError
		if !errors.Is(err, tt.want) || !errors.As(err, &fe) || len(records) != 0 {
			t.Errorf("%s: Read = %v with %d records, want a *FileError with %v", tt.desc, err, len(records), tt.want)
		}
	}
}

// TestReadPcapForms reads one capture in all forms of the classic format.
func TestReadPcapForms(t *testing.T) {
	file := load(t, captureDir+"/peer-300-v1-nocrc.pcap")
	want := mustRead(t, file)
	for _, tt := range []struct {
		desc  string
		magic uint32
		order binary.AppendByteOrder
		tick  time.Duration
	}{
		{"little-endian, microseconds", pcapMicro, binary.LittleEndian, time.Microsecond},
		{"little-endian, nanoseconds", pcapNano, binary.LittleEndian, time.Nanosecond},
		{"big-endian, microseconds", pcapMicro, binary.BigEndian, time.Microsecond},
		{"big-endian, nanoseconds", pcapNano, binary.BigEndian, time.Nanosecond},
	} {
		b := tt.order.AppendUint32(nil, tt.magic)
		b = tt.order.AppendUint16(b, 2)
		b = tt.order.AppendUint16(b, 4)
		for _, v := range []uint32{0, 0, 65535, linkEthernet} {
			b = tt.order.AppendUint32(b, v)
		}
		for _, p := range splitFile(t, file) {
			b = tt.order.AppendUint32(b, uint32(p.time.Unix()))
			b = tt.order.AppendUint32(b, uint32(p.time.Nanosecond()/int(tt.tick)))
			b = tt.order.AppendUint32(b, uint32(len(p.data)))
			b = tt.order.AppendUint32(b, uint32(len(p.data)))
			b = append(b, p.data...)
		}
		got := mustRead(t, b)
		diff(t, tt.desc, lines(t, got), lines(t, want))
		for i := range want {
			if got[i].T != want[i].T || !got[i].Time.Equal(want[i].Time) {
				t.Errorf("%s: record %d at %v, %v; want %v, %v", tt.desc, i, got[i].T, got[i].Time, want[i].T, want[i].Time)
			}
		}
	}
}
