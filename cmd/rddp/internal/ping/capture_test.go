package ping

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestSameOctetsAsRping compares all bytes that our two ends send with those that rping sent at
// both ends over siw (conformance/testdata/siw/README.md). Only the random parts may differ: STags
// and tagged offsets. The test checks that they refer to the right buffers.
func TestSameOctetsAsRping(t *testing.T) {
	tests := []struct {
		file  string
		port  uint16 // of the server
		noCRC bool
	}{
		{"rping-64-crc.pcap", 7201, false},
		{"rping-64-nocrc.pcap", 7202, true},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			theirs := captured(t, "../../../../conformance/testdata/siw/"+tt.file, tt.port)
			synctest.Test(t, func(t *testing.T) {
				ours := new(taps)
				socket := extsock.Config{Backend: simtoe.New(simtoe.Config{}), NoCRC: tt.noCRC, Tap: ours.tap}
				_, clientErr, serverErr := exchange(t, "server:0", &Config{Socket: socket}, &Config{Socket: socket, Count: 3})
				if clientErr != nil || serverErr != nil {
					t.Fatalf("client: %v, server: %v", clientErr, serverErr)
				}
				a := dissect(t, ours.sent[0], ours.sent[1], !tt.noCRC)
				b := dissect(t, theirs[0], theirs[1], !tt.noCRC)
				for way, name := range []string{"client", "server"} {
					if got, want := len(a[way]), len(b[way]); got != want {
						t.Errorf("the %s sent %d frames, rping's %d", name, got, want)
					}
					for i := range min(len(a[way]), len(b[way])) {
						if got, want := a[way][i], b[way][i]; got != want {
							t.Errorf("frame %d of the %s is\n%s, rping's\n%s", i, name, got, want)
						}
					}
				}
			})
		})
	}
}

// taps collects the bytes that each end sent: 0 is the client, 1 the server.
type taps struct {
	mu   sync.Mutex
	sent [2][]byte
}

type tap struct {
	all *taps
	end int
}

func (a *taps) tap(_, _ net.Addr, initiator bool) toe.Tap {
	if initiator {
		return tap{a, 0}
	}
	return tap{a, 1}
}

func (t tap) Sent(p []byte) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.sent[t.end] = append(t.all.sent[t.end], p...)
}
func (t tap) Received([]byte) {}
func (t tap) Closed()         {}

// captured reads the bytes that each end sent from a capture, which must be classic pcap with
// Ethernet and IPv4, in order and without retransmissions.
func captured(t *testing.T, file string, server uint16) (sent [2][]byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[24:]; len(b) > 0; {
		n := binary.LittleEndian.Uint32(b[8:])
		ip := b[16+14 : 16+n]
		b = b[16+n:]
		ip = ip[:binary.BigEndian.Uint16(ip[2:])]
		tcp := ip[int(ip[0]&15)*4:]
		way := 0
		if binary.BigEndian.Uint16(tcp) == server {
			way = 1
		}
		sent[way] = append(sent[way], tcp[int(tcp[12]>>4)*4:]...)
	}
	return sent
}

// An address is a random address of a buffer.
type address struct {
	stag uint32
	to   uint64
}

// A dissector replaces the random parts of the frames of a connection.
type dissector struct {
	t       *testing.T
	crc     bool
	offered []address // by the client, in order
	reads   []request // Read Requests, in order
}

// A request is an RDMA Read Request.
type request struct{ sink, source address }

// dissect returns the frames of the client and the server as text, with zeros for STags, offsets
// and CRCs. It checks the CRCs, and that each address is the one that was offered or requested.
func dissect(t *testing.T, client, server []byte, crc bool) (frames [2][]string) {
	t.Helper()
	d := &dissector{t: t, crc: crc}
	// The offers are needed for the server's frames, and the server's requests for the client's
	// Read Responses.
	clientFPDUs, serverFPDUs := d.cut(client), d.cut(server)
	for _, f := range clientFPDUs[1:] {
		if f[3]&0x0f == opSend {
			d.offered = append(d.offered, address{binary.BigEndian.Uint32(f[28:]), binary.BigEndian.Uint64(f[20:])})
			clear(f[20:32])
		}
	}
	writes, responses := 0, 0
	for _, f := range serverFPDUs[1:] {
		switch f[3] & 0x0f {
		case opReadRequest:
			p := f[20:]
			d.reads = append(d.reads, request{
				sink:   address{binary.BigEndian.Uint32(p), binary.BigEndian.Uint64(p[4:])},
				source: address{binary.BigEndian.Uint32(p[16:]), binary.BigEndian.Uint64(p[20:])},
			})
			d.same("the source of a Read Request", d.reads[len(d.reads)-1].source, d.offered[2*len(d.reads)-2])
			clear(p[:12])
			clear(p[16:28])
		case opWrite:
			d.same("the sink of a Write", takeAddress(f), d.offered[2*writes+1])
			writes++
		}
	}
	for _, f := range clientFPDUs[1:] {
		if f[3]&0x0f == opReadResponse {
			d.same("the sink of a Read Response", takeAddress(f), d.reads[responses].sink)
			responses++
		}
	}
	for way, fs := range [][][]byte{clientFPDUs, serverFPDUs} {
		for _, f := range fs {
			frames[way] = append(frames[way], hex.EncodeToString(f))
		}
	}
	return frames
}

const (
	opWrite        = 0
	opReadRequest  = 1
	opReadResponse = 2
	opSend         = 3
)

// takeAddress returns the address in a tagged FPDU, and clears it.
func takeAddress(f []byte) address {
	a := address{binary.BigEndian.Uint32(f[4:]), binary.BigEndian.Uint64(f[8:])}
	clear(f[4:16])
	return a
}

func (d *dissector) same(what string, got, want address) {
	d.t.Helper()
	if got != want {
		d.t.Errorf("%s is %+v, want %+v", what, got, want)
	}
}

// cut returns the startup frame and the FPDUs of one direction. It checks and clears the CRCs of
// the FPDUs.
func (d *dissector) cut(stream []byte) (frames [][]byte) {
	d.t.Helper()
	next := func(n int) []byte {
		if n > len(stream) {
			d.t.Fatalf("%d bytes are left, %d are needed", len(stream), n)
		}
		f := bytes.Clone(stream[:n])
		stream = stream[n:]
		return f
	}
	frames = append(frames, next(20+int(binary.BigEndian.Uint16(stream[18:]))))
	for len(stream) > 0 {
		n := (2 + int(binary.BigEndian.Uint16(stream)) + 3) &^ 3
		f := next(n + 4)
		want := uint32(0)
		if d.crc {
			want = crc32.Checksum(f[:n], crc32.MakeTable(crc32.Castagnoli))
		}
		if got := binary.LittleEndian.Uint32(f[n:]); got != want {
			d.t.Errorf("CRC %#08x, want %#08x", got, want)
		}
		clear(f[n:])
		frames = append(frames, f)
	}
	return frames
}

// rping's three pings contain the same data as fill writes.
func TestFillIsWhatRpingSent(t *testing.T) {
	sent := captured(t, "../../../../conformance/testdata/siw/rping-64-crc.pcap", 7201)
	d := &dissector{t: t, crc: true}
	var got []string
	for _, f := range d.cut(sent[0])[1:] {
		if f[3]&0x0f == opReadResponse {
			got = append(got, string(f[16:16+64]))
		}
	}
	var want []string
	for n := range 3 {
		p := make([]byte, 64)
		fill(p, n)
		want = append(want, string(p))
	}
	if !slices.Equal(got, want) {
		t.Errorf("rping sent\n%s, fill gives\n%s", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
}
