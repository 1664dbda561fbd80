//go:build tshark

package dissect

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/pcapng"
)

// tsharkOptions make tshark look for MPA on any port, and not decode Sends as other protocols.
var tsharkOptions = []string{
	"-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "smb_direct", "--disable-protocol", "rpcordma",
}

// element is a proto or field of tshark's PDML.
type element struct {
	Name     string    `xml:"name,attr"`
	ShowName string    `xml:"showname,attr"`
	Show     string    `xml:"show,attr"`
	Value    string    `xml:"value,attr"`
	Protos   []element `xml:"proto"`
	Fields   []element `xml:"field"`
}

// find returns the first field of this name below e.
func (e element) find(name string) (element, bool) {
	for _, f := range e.Fields {
		if f.Name == name {
			return f, true
		}
		if found, ok := f.find(name); ok {
			return found, true
		}
	}
	return element{}, false
}

// number returns the value of a field, 0 if it isn't there.
func (e element) number(t *testing.T, name string) uint64 {
	t.Helper()
	f, ok := e.find(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(f.Value, 16, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// tshark returns the packets that pass the display filter.
func tshark(t *testing.T, file, filter string, options ...string) []element {
	t.Helper()
	args := append([]string{"-r", file, "-T", "pdml", "-Y", filter}, tsharkOptions...)
	args = append(args, options...)
	var stderr bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v: %s", err, stderr.String())
	}
	var pdml struct {
		Packets []element `xml:"packet"`
	}
	if err := xml.NewDecoder(bytes.NewReader(out)).Decode(&pdml); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return pdml.Packets
}

// tsharkFPDUs returns tshark's description of each FPDU, by sender and receiver.
func tsharkFPDUs(t *testing.T, file string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range tshark(t, file, "iwarp_mpa || _ws.malformed") {
		var way string
		var mpa element
		addresses := ""
		for _, proto := range p.Protos {
			switch proto.Name {
			case "ip", "ipv6":
				src, _ := proto.find(proto.Name + ".src")
				dst, _ := proto.find(proto.Name + ".dst")
				addresses = src.Show + " " + dst.Show
			case "tcp":
				way = fmt.Sprintf("%s %d %d", addresses, proto.number(t, "tcp.srcport"), proto.number(t, "tcp.dstport"))
			case "_ws.malformed":
				t.Errorf("tshark finds a malformed packet: %s: %+v", way, proto)
			case "iwarp_mpa":
				mpa = proto
			case "iwarp_ddp_rdmap":
				all[way] = append(all[way], tsharkFPDU(t, mpa, proto))
			}
		}
	}
	return all
}

// tsharkFPDU describes the fields of one FPDU in the same words as ourFPDU.
func tsharkFPDU(t *testing.T, mpa, ddp element) string {
	t.Helper()
	crc := CRCOff
	if check, ok := mpa.find("iwarp_mpa.crc_check"); ok {
		crc = CRCBad
		if strings.Contains(check.ShowName, "(Good CRC32)") {
			crc = CRCGood
		}
	}
	n := func(name string) uint64 { return ddp.number(t, name) }
	s := fmt.Sprintf("opcode %d ulpdu %d crc %s last %d", n("iwarp_rdma.opcode"), mpa.number(t, "iwarp_mpa.ulpdulength"), crc, n("iwarp_ddp.last_flag"))
	if n("iwarp_ddp.tagged_flag") == 1 {
		s += fmt.Sprintf(" stag %#x to %#x", n("iwarp_ddp.stag"), n("iwarp_ddp.tagged_offset"))
	} else {
		s += fmt.Sprintf(" qn %d msn %d mo %d", n("iwarp_ddp.qn"), n("iwarp_ddp.msn"), n("iwarp_ddp.mo"))
	}
	if _, ok := ddp.find("iwarp_rdma.inval_stag"); ok {
		s += fmt.Sprintf(" invalidate %#x", n("iwarp_rdma.inval_stag"))
	}
	if _, ok := ddp.find("iwarp_rdma.rr"); ok {
		s += fmt.Sprintf(" sink %#x %#x size %d source %#x %#x", n("iwarp_rdma.sinkstag"), n("iwarp_rdma.sinkto"),
			n("iwarp_rdma.rdmardsz"), n("iwarp_rdma.srcstag"), n("iwarp_rdma.srcto"))
	}
	if _, ok := ddp.find("iwarp_rdma.terminate"); ok {
		var etype, code element
		for _, layer := range []string{"_rdma", "_ddp", "_llp", ""} {
			if f, ok := ddp.find("iwarp_rdma.term_etype" + layer); ok {
				etype = f
			}
			for _, model := range []string{"", "_tagged", "_untagged"} {
				if f, ok := ddp.find("iwarp_rdma.term_errcode" + layer + model); ok {
					code = f
				}
			}
		}
		s += fmt.Sprintf(" terminate layer %d etype %s code %s", n("iwarp_rdma.term_layer"), etype.Value, code.Value)
	}
	return s
}

// ourFPDUs returns this package's description of each FPDU.
func ourFPDUs(t *testing.T, records []Record) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, r := range records {
		if r.Kind == KindError {
			t.Errorf("record %v", r)
		}
		if r.FPDU != nil {
			way := fmt.Sprintf("%v %v %d %d", r.Src.Addr(), r.Dst.Addr(), r.Src.Port(), r.Dst.Port())
			all[way] = append(all[way], ourFPDU(t, r))
		}
	}
	return all
}

func ourFPDU(t *testing.T, r Record) string {
	t.Helper()
	f := r.FPDU
	opcode := -1
	for op, name := range opNames {
		if name == r.Op {
			opcode = int(op)
		}
	}
	last := 0
	if f.Last {
		last = 1
	}
	s := fmt.Sprintf("opcode %d ulpdu %d crc %s last %d", opcode, f.ULPDULen, r.CRC, last)
	if f.Tagged != nil {
		s += fmt.Sprintf(" stag %#x to %#x", uint32(f.STag), f.TO)
	} else {
		s += fmt.Sprintf(" qn %d msn %d mo %d", f.QN, f.MSN, f.MO)
	}
	if f.Invalidate != nil {
		s += fmt.Sprintf(" invalidate %#x", uint32(*f.Invalidate))
	}
	if h := f.ReadRequest; h != nil {
		s += fmt.Sprintf(" sink %#x %#x size %d source %#x %#x", uint32(h.SinkSTag), h.SinkTO, h.ReadSize, uint32(h.SourceSTag), h.SourceTO)
	}
	if h := f.Terminate; h != nil {
		layer, etype := h.Layer, h.ErrorType
		if h.HostOrder {
			// tshark reads siw's Terminates as the RFC defines them, so layer and error type are
			// exchanged.
			layer, etype = etype, layer
		}
		s += fmt.Sprintf(" terminate layer %d etype %x code %02x", layer, etype, h.ErrorCode)
	}
	return s
}

// compare compares tshark's FPDUs with ours and returns their number.
func compare(t *testing.T, what, file string) int {
	t.Helper()
	ours, theirs := ourFPDUs(t, mustRead(t, load(t, file))), tsharkFPDUs(t, file)
	n := 0
	for way := range theirs {
		if _, ok := ours[way]; !ok {
			t.Errorf("%s: tshark has FPDUs from %s", what, way)
		}
	}
	for way, want := range ours {
		diff(t, what+" "+way+" (want = ours, got = tshark)", theirs[way], want)
		n += len(want)
	}
	return n
}

func TestTsharkAgreesOnSiw(t *testing.T) {
	n := 0
	for _, name := range captures(t) {
		n += compare(t, filepath.Base(name), name)
	}
	if want := 813; n != want { // the sum over expect.jsonl
		t.Errorf("%d FPDUs were compared, want %d", n, want)
	}
}

// record writes a capture with a Writer and returns its name.
func record(t *testing.T, play func(w *pcapng.Writer)) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, file)
	play(w)
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// all is one FPDU of each kind, in one piece.
func all(t *testing.T) (octets []byte, n int) {
	t.Helper()
	for _, v := range vectors {
		if v.fpdu != "0001ff003afdc54e" && v.fpdu != "00000000c74b6748" { // no DDP segments
			octets = append(octets, unhex(v.fpdu)...)
			n++
		}
	}
	return octets, n
}

func TestTsharkAgreesOnWriter(t *testing.T) {
	want := 0
	name := record(t, func(w *pcapng.Writer) {
		vectors, n := all(t)
		flows := []*pcapng.Flow{
			w.Flow(tcpAddr("10.0.0.1:40000"), tcpAddr("10.0.0.2:7174"), true),
			w.Flow(tcpAddr("[2001:db8::2]:7174"), tcpAddr("[2001:db8::1]:40000"), false),
			w.Flow(nil, nil, true),
		}
		for i, f := range flows {
			request, reply := f.Sent, f.Received
			if i == 1 {
				request, reply = reply, request
			}
			request(unhex(helloRequest))
			reply(unhex(helloReply))
		}
		for _, f := range flows {
			f.Sent(vectors)
			f.Received(vectors)
			f.Sent(bytes.Repeat(bigWrite(t, 30000), 5)) // FPDUs and packets begin at different places
			f.Sent(bigWrite(t, 64768))
			f.Sent(bigWrite(t, 64768)[:40000])
			f.Received(bytes.Repeat(bigWrite(t, 1442), 1000)) // more than a megabyte
			f.Sent(bigWrite(t, 64768)[40000:])
			want += 2*n + 5 + 2 + 1000
		}
		for _, f := range flows {
			f.Closed()
		}
	})
	if n := compare(t, "Writer", name); n != want {
		t.Errorf("%d FPDUs, want %d", n, want)
	}
	// Not for siw's captures: TCP checksums are not filled in on a loopback interface.
	for _, p := range tshark(t, name, "tcp.analysis.flags || tcp.checksum.status != 1 || ip.checksum.status == 0",
		"-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE") {
		t.Errorf("tshark finds a fault in packet %+v", p.Protos[0])
	}
}

// markerCapture has FPDUs of several sizes in both directions, one in each packet, so that there
// are packets without a marker, with one and with several.
func markerCapture(t *testing.T, toClient bool) string {
	t.Helper()
	return record(t, func(w *pcapng.Writer) {
		f := w.Flow(nil, nil, true)
		if toClient {
			f.Sent(unhex(strings.Replace(helloRequest, "4001", "c001", 1)))
		} else {
			f.Sent(unhex(helloRequest))
		}
		f.Received(unhex(helloReplyMarkers))
		for _, d := range []struct {
			record  func([]byte)
			markers bool
		}{{f.Sent, true}, {f.Received, toClient}} {
			off := uint64(0)
			for _, n := range []int{0, 10, 380, 100, 300, 600, 1000, 1500, 3000, 5, 6} {
				b := markStream(off, d.markers, append(unhex(sendHelloULPDU), make([]byte, n)...))
				off += uint64(len(b))
				d.record(b)
			}
		}
		f.Closed()
	})
}

func TestTsharkAgreesOnMarkers(t *testing.T) {
	if n := compare(t, "markers", markerCapture(t, true)); n != 22 {
		t.Errorf("%d FPDUs, want 22", n)
	}
}

// TestTsharkAgreesOnMarkersInTheMiddle begins captures at various places of a stream with markers.
func TestTsharkAgreesOnMarkersInTheMiddle(t *testing.T) {
	for _, begin := range []uint64{0, 8, 12, 256, 504, 508, 512, 900, 1 << 40} {
		name, n := markersFrom(t, begin, 10, 380, 100, 300, 600, 1000, 1504, 3000, 5, 6, 64000, 20)
		if begin%512 != 0 {
			n++ // the FPDU that is made up
		}
		if got := compare(t, fmt.Sprintf("from %d", begin), name); got != 2*n {
			t.Errorf("from %d: %d FPDUs, want %d", begin, got, 2*n)
		}
	}
}

// markersFrom returns a capture that begins at this offset of a stream with markers, the same in
// both directions. Each size is the number of octets of a Send beyond those of hello.
func markersFrom(t *testing.T, begin uint64, sizes ...int) (name string, n int) {
	t.Helper()
	return record(t, func(w *pcapng.Writer) {
		f := w.Flow(nil, nil, true)
		f.Sent(unhex(strings.Replace(helloRequest, "4001", "c001", 1)))
		f.Received(unhex(helloReplyMarkers))
		var all []byte
		for _, n := range sizes {
			all = append(all, markStream(begin+uint64(len(all)), true, append(unhex(sendHelloULPDU), make([]byte, n)...))...)
		}
		f.SentFPDUs([][]byte{all[:100], all[100:]}, begin, true)
		f.ReceivedFPDUs(all, begin, true)
		f.Stop()
	}), len(sizes)
}

// TestTsharkFaults records known faults of tshark. If a newer tshark does better, these cases
// belong above.
func TestTsharkFaults(t *testing.T) {
	t.Run("markers in one direction are expected in both", func(t *testing.T) {
		name := markerCapture(t, false)
		ours, theirs := ourFPDUs(t, mustRead(t, load(t, name))), tsharkFPDUs(t, name)
		client, server := "192.0.2.1 192.0.2.2 49153 7174", "192.0.2.2 192.0.2.1 7174 49153"
		diff(t, "with markers", theirs[client], ours[client])
		if len(ours[server]) != 11 || len(theirs[server]) != 0 {
			t.Errorf("without markers: tshark has %d FPDUs and we have %d, want 0 and 11", len(theirs[server]), len(ours[server]))
		}
	})
	t.Run("with markers, an FPDU that ends where a marker is due", func(t *testing.T) {
		name, _ := markersFrom(t, 0, 477) // 4 + 2 + 23 + 477 + 2 + 4 = 512
		records := mustRead(t, load(t, name))
		if ours, theirs := ourFPDUs(t, records), tsharkFPDUs(t, name); len(ours) != 2 || len(theirs) != 0 {
			t.Errorf("we have FPDUs in %d directions and tshark in %d, want 2 and 0", len(ours), len(theirs))
		}
	})
	t.Run("with markers, only one FPDU in a segment", func(t *testing.T) {
		name := record(t, func(w *pcapng.Writer) {
			f := w.Flow(nil, nil, true)
			f.Sent(unhex(helloRequest))
			f.Received(unhex(helloReplyMarkers))
			f.Sent(markStream(0, true, unhex(sendHelloULPDU), unhex(sendHelloULPDU)))
			f.Closed()
		})
		ours, theirs := ourFPDUs(t, mustRead(t, load(t, name))), tsharkFPDUs(t, name)
		if way := "192.0.2.1 192.0.2.2 49153 7174"; len(ours[way]) != 2 || len(theirs[way]) != 0 {
			t.Errorf("tshark has %d FPDUs and we have %d, want 0 and 2", len(theirs[way]), len(ours[way]))
		}
	})
}
