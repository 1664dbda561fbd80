package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rddp/rddp/internal/dissect"
)

const siwCaptures = "testdata/siw"

// capture is a line of expect.jsonl; testdata/README.md tells what the fields mean.
type capture struct {
	File        string       `json:"file"`
	MTU         int          `json:"mtu"`
	Packets     int          `json:"packets"`
	Connections []connection `json:"connections"`
}

type connection struct {
	Port      uint16    `json:"port"`
	CRC       bool      `json:"crc"`
	Request   frame     `json:"request"`
	Reply     frame     `json:"reply"`
	Initiator direction `json:"initiator"`
	Responder direction `json:"responder"`
}

type frame struct {
	Flags       uint8  `json:"flags"`
	Rev         uint8  `json:"rev"`
	PrivateData string `json:"private_data"`
	IRD         uint16 `json:"ird"`
	ORD         uint16 `json:"ord"`
	A           uint8  `json:"A"`
	B           uint8  `json:"B"`
	C           uint8  `json:"C"`
	D           uint8  `json:"D"`
}

type direction struct {
	FPDUs        int               `json:"fpdus"`
	MaxULPDU     int               `json:"max_ulpdu"`
	NonzeroPads  int               `json:"nonzero_pads"`
	Segments     map[string]int    `json:"segments"`
	Messages     map[string]int    `json:"messages"`
	PayloadBytes map[string]int    `json:"payload_bytes"`
	PayloadCRC32 map[string]uint32 `json:"payload_crc32"`
	Terminates   []string          `json:"terminates"`
}

func newDirection() direction {
	return direction{
		Segments: map[string]int{}, Messages: map[string]int{}, PayloadBytes: map[string]int{},
		PayloadCRC32: map[string]uint32{}, Terminates: []string{},
	}
}

// opNames are the opcodes in the words of expect.jsonl.
var opNames = map[string]string{
	"rdma-write": "write", "rdma-read-request": "read_request", "rdma-read-response": "read_response",
	"send": "send", "send-se": "send_se", "terminate": "terminate",
}

// siwTerminates says in words what siw's Terminates mean. It sends their bits in host order: octet
// 0 holds the error type in its upper half and the layer in its lower half.
var siwTerminates = map[string]struct {
	layer, errorType, code uint8
	words                  string
}{
	"term-read-bounds-crc.pcap":     {0, 1, 0x01, "RDMA remote protection error: base or bounds violation"},
	"term-send-no-buffer-crc.pcap":  {1, 2, 0x02, "DDP untagged buffer error: invalid MSN: no buffer available"},
	"term-send-too-long-nocrc.pcap": {1, 2, 0x02, "DDP untagged buffer error: invalid MSN: no buffer available"},
	"term-write-bad-stag-crc.pcap":  {1, 1, 0x00, "DDP tagged buffer error: invalid STag"},
}

// TestSiwCaptures decodes every capture and compares each fact that is known of it.
func TestSiwCaptures(t *testing.T) {
	expected := readExpected(t)
	files, err := filepath.Glob(filepath.Join(siwCaptures, "*.pcap"))
	if err != nil || len(files) != len(expected) {
		t.Fatalf("%d captures for %d expectations, %v", len(files), len(expected), err)
	}
	for _, want := range expected {
		t.Run(want.File, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(siwCaptures, want.File))
			if err != nil {
				t.Fatal(err)
			}
			if n := countPackets(b); n != want.Packets {
				t.Errorf("%d packets, want %d", n, want.Packets)
			}
			got := facts(t, b, want.File)
			if len(got) != len(want.Connections) {
				t.Fatalf("%d connections, want %d", len(got), len(want.Connections))
			}
			for i := range want.Connections {
				if !reflect.DeepEqual(got[i], want.Connections[i]) {
					g, _ := json.Marshal(got[i])
					w, _ := json.Marshal(want.Connections[i])
					t.Errorf("connection %d:\n got %s\nwant %s", i, g, w)
				}
			}
		})
	}
}

func readExpected(t *testing.T) []capture {
	t.Helper()
	f, err := os.Open(filepath.Join(siwCaptures, "expect.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []capture
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c capture
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields() // a fact that is not compared is a fault of this test
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%d expectations, %v", len(all), err)
	}
	return all
}

// countPackets counts those of a classic little-endian pcap file.
func countPackets(b []byte) int {
	n := 0
	for b = b[24:]; len(b) >= 16; n++ {
		b = b[16+binary.LittleEndian.Uint32(b[8:]):]
	}
	return n
}

// facts gathers what dissect finds in the same form as the expectations.
func facts(t *testing.T, file []byte, name string) []connection {
	t.Helper()
	var all []connection
	byClient := map[string]int{} // number of the connection
	err := dissect.Read(bytes.NewReader(file), func(r dissect.Record) error {
		client, toServer := r.Src.String(), true
		if _, known := byClient[client]; !known && r.Kind != dissect.KindRequest {
			client, toServer = r.Dst.String(), false
		}
		switch r.Kind {
		case dissect.KindRequest:
			byClient[client] = len(all)
			all = append(all, connection{
				Port: r.Dst.Port(), Request: frameOf(r.Startup), Initiator: newDirection(), Responder: newDirection(),
			})
		case dissect.KindReply:
			c := &all[byClient[client]]
			c.Reply = frameOf(r.Startup)
			c.CRC = (c.Request.Flags|c.Reply.Flags)&0x40 != 0
		case dissect.KindFPDU:
			c := &all[byClient[client]]
			d := &c.Responder
			if toServer {
				d = &c.Initiator
			}
			d.add(t, r, c.CRC)
			if r.Terminate != nil {
				checkTerminate(t, r.Terminate, name)
			}
		case dissect.KindError:
			t.Errorf("unexpected record: %v", r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func frameOf(s *dissect.Startup) frame {
	f := frame{Rev: s.Revision}
	private := s.PrivateData
	for _, b := range []struct {
		set bool
		bit uint8
	}{{s.WantMarkers, 0x80}, {s.WantCRC, 0x40}, {s.Reject, 0x20}, {s.Enhanced != nil, 0x10}} {
		if b.set {
			f.Flags |= b.bit
		}
	}
	if e := s.Enhanced; e != nil {
		f.IRD, f.ORD = e.IRD, e.ORD
		f.A, f.B, f.C, f.D = bit(e.PeerToPeer), bit(e.RTRSend), bit(e.RTRWrite), bit(e.RTRRead)
		header := binary.BigEndian.AppendUint16(nil, uint16(f.A)<<15|uint16(f.B)<<14|f.IRD)
		header = binary.BigEndian.AppendUint16(header, uint16(f.C)<<15|uint16(f.D)<<14|f.ORD)
		private = append(header, private...)
	}
	f.PrivateData = hex.EncodeToString(private)
	return f
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (d *direction) add(t *testing.T, r dissect.Record, crc bool) {
	t.Helper()
	want := dissect.CRCOff
	if crc {
		want = dissect.CRCGood
	}
	if r.CRC != want || r.Error != "" {
		t.Errorf("crc %s, want %s: %v", r.CRC, want, r)
	}
	op := opNames[r.Op]
	d.FPDUs++
	d.MaxULPDU = max(d.MaxULPDU, r.ULPDULen)
	d.Segments[op]++
	d.Messages[op] += int(bit(r.Last))
	d.PayloadBytes[op] += r.PayloadLen
	d.PayloadCRC32[op] = crc32.Update(d.PayloadCRC32[op], crc32.IEEETable, r.Payload)
	d.NonzeroPads += int(bit(r.PadSet))
	if r.Terminate != nil {
		d.Terminates = append(d.Terminates, hex.EncodeToString(r.Raw))
	}
}

func checkTerminate(t *testing.T, got *dissect.Terminate, name string) {
	t.Helper()
	want, ok := siwTerminates[name]
	if !ok {
		t.Errorf("an unexpected Terminate: %s", got.Words)
		return
	}
	if got.Words != want.words || got.Layer != want.layer || got.ErrorType != want.errorType || got.ErrorCode != want.code || !got.HostOrder {
		t.Errorf("Terminate %d/%d/%d %q, host order %t; want %d/%d/%d %q in host order",
			got.Layer, got.ErrorType, got.ErrorCode, got.Words, got.HostOrder, want.layer, want.errorType, want.code, want.words)
	}
}
