package dissect

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// captureDir holds the captures of Linux siw.
const captureDir = "../../conformance/testdata/siw"

// Startup frames of revision 1, with and without CRC, and with markers wanted.
const (
	helloRequest             = "4d50412049442052 6571204672616d65 40010000"
	helloReply               = "4d50412049442052 6570204672616d65 40010000"
	helloRequestNoCRC        = "4d50412049442052 6571204672616d65 00010000"
	helloReplyNoCRC          = "4d50412049442052 6570204672616d65 00010000"
	helloReplyMarkers        = "4d50412049442052 6570204672616d65 c0010000"
	helloReplyRejects        = "4d50412049442052 6570204672616d65 60010002 6e6f"
	sendHello                = "0017 4143 00000000 00000000 00000001 00000000 68656c6c6f 000000 b990b10c"
	sendHelloULPDU           = "4143 00000000 00000000 00000001 00000000 68656c6c6f"
	writeEight               = "0016c1401234560100000000000010000102030405060708ac68a21f"
	terminateBadSTag         = "00264147000000000000000200000001000000001100c0000016c140deadbe000000000000001000f164be55"
	clientPort        uint16 = 40000
	serverPort        uint16 = 7174
)

var unhex = prototest.Unhex

// captures returns the names of all captures of siw.
func captures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(captureDir, "*.pcap"))
	if err != nil || len(names) < 20 {
		t.Fatalf("captures in %s: %d, %v", captureDir, len(names), err)
	}
	return names
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll returns all records of a capture; Payload is copied.
func readAll(file []byte) ([]Record, error) {
	var records []Record
	err := Read(bytes.NewReader(file), func(r Record) error {
		if r.FPDU != nil {
			r.Payload = bytes.Clone(r.Payload)
		}
		records = append(records, r)
		return nil
	})
	return records, err
}

func mustRead(t testing.TB, file []byte) []Record {
	t.Helper()
	records, err := readAll(file)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return records
}

// lines returns the records as JSON without their times, which depend on the packets they came in.
func lines(t testing.TB, records []Record) []string {
	t.Helper()
	var out []string
	for _, r := range records {
		r.T = 0
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func diff(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s: record %d of %d:\n got %s\nwant %s", what, i, len(want), g, w)
			return
		}
	}
}

// ops returns a short form of records: the op of an FPDU with its CRC, otherwise the kind.
func ops(records []Record) []string {
	var out []string
	for _, r := range records {
		s := r.Kind
		if r.FPDU != nil {
			s = r.Op + " " + r.CRC
		}
		out = append(out, s)
	}
	return out
}

func wantOps(t *testing.T, records []Record, want ...string) {
	t.Helper()
	if got := ops(records); !slices.Equal(got, want) {
		t.Errorf("records are %q, want %q", got, want)
		for _, r := range records {
			t.Log(r)
		}
	}
}

func newWriter(t testing.TB, file io.Writer) *pcapng.Writer {
	t.Helper()
	w, err := pcapng.NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// splitFile returns the packets of a capture file.
func splitFile(t testing.TB, file []byte) []packet {
	t.Helper()
	source, err := openCapture(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var all []packet
	for {
		p, err := source.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		p.data = bytes.Clone(p.data)
		all = append(all, p)
	}
}

// joinFile makes a pcap file of packets.
func joinFile(t testing.TB, packets []packet) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	link := layers.LinkTypeEthernet
	if len(packets) > 0 {
		link = layers.LinkType(packets[0].link)
	}
	if err := w.WriteFileHeader(maxPacket, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		length := len(p.data)
		if p.cut {
			length++
		}
		ci := gopacket.CaptureInfo{Timestamp: p.time, CaptureLength: len(p.data), Length: length}
		if err := w.WritePacket(ci, p.data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// script makes packets of one connection by hand, as a Writer can't: out of order, for example.
type script struct {
	t       testing.TB
	packets []packet
	seq     [2]uint32 // of the next octet of client and server
}

// newScript begins with a handshake.
func newScript(t testing.TB) *script {
	s := &script{t: t, seq: [2]uint32{0xFFFFFFF0, 5000}} // the client's numbers wrap soon
	s.add(0, s.seq[0], "S", nil)
	s.add(1, s.seq[1], "SA", nil)
	s.seq[0]++
	s.seq[1]++
	return s
}

// add adds a packet from the client (0) or the server (1).
func (s *script) add(from int, seq uint32, flags string, payload []byte) {
	s.t.Helper()
	ports := [2]uint16{clientPort, serverPort}
	tcp := &layers.TCP{
		SrcPort: layers.TCPPort(ports[from]), DstPort: layers.TCPPort(ports[1-from]), Seq: seq, Window: 1000,
		SYN: strings.Contains(flags, "S"), ACK: strings.Contains(flags, "A"), FIN: strings.Contains(flags, "F"), RST: strings.Contains(flags, "R"),
	}
	addr := [2]net.IP{{10, 0, 0, 1}, {10, 0, 0, 2}}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: addr[from], DstIP: addr[1-from]}
	_ = tcp.SetNetworkLayerForChecksum(ip)
	eth := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, options, eth, ip, tcp, gopacket.Payload(payload)); err != nil {
		s.t.Fatal(err)
	}
	at := time.Unix(1700000000, int64(len(s.packets))*1000).UTC()
	s.packets = append(s.packets, packet{time: at, link: linkEthernet, data: bytes.Clone(b.Bytes())})
}

// send adds one segment with the next octets of a side.
func (s *script) send(from int, hexOctets string) {
	s.t.Helper()
	s.sendOctets(from, unhex(hexOctets))
}

func (s *script) sendOctets(from int, payload []byte) {
	s.t.Helper()
	s.add(from, s.seq[from], "A", payload)
	s.seq[from] += uint32(len(payload))
}

func (s *script) fin(from int) {
	s.t.Helper()
	s.add(from, s.seq[from], "FA", nil)
}

func (s *script) read() []Record {
	s.t.Helper()
	return mustRead(s.t, joinFile(s.t, s.packets))
}

// markStream frames ULPDUs with markers and CRC octet by octet, as the RFC describes it.
func markStream(off uint64, markers bool, ulpdus ...[]byte) []byte {
	var out []byte
	for _, u := range ulpdus {
		body := binary.BigEndian.AppendUint16(nil, uint16(len(u)))
		body = append(body, u...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		begin, header := len(out), -1
		for i := 0; i <= len(body); i++ {
			if pos := off + uint64(len(out)); markers && pos%512 == 0 && i%4 == 0 {
				pointer := 0
				if header >= 0 {
					pointer = len(out) - header
				}
				out = append(out, 0, 0, byte(pointer>>8), byte(pointer))
			}
			if header < 0 {
				header = len(out)
			}
			if i < len(body) {
				out = append(out, body[i])
			}
		}
		sum := crc32.Checksum(out[begin:], castagnoli)
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	return out
}
