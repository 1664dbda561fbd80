//go:build interop

package interop

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"testing"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A wiretap sees all octets of this stack's end and cuts them into frames: first one startup frame
// in each direction, then FPDUs. There are no markers, because siw does not support them.
type wiretap struct {
	mu     sync.Mutex
	rest   [2][]byte
	frames []frame
}

// A frame is a startup frame or an FPDU.
type frame struct {
	sent   bool   // by this stack, otherwise by siw
	octets []byte // all of it
}

func (w *wiretap) Sent(p []byte)     { w.add(0, p) }
func (w *wiretap) Received(p []byte) { w.add(1, p) }
func (w *wiretap) Closed()           {}

func (w *wiretap) add(way int, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(w.rest[way], p...)
	for {
		n := frameLen(b)
		if n == 0 || n > len(b) {
			break
		}
		w.frames = append(w.frames, frame{sent: way == 0, octets: b[:n:n]})
		b = b[n:]
	}
	w.rest[way] = b
}

// frameLen returns the length of the frame at the beginning of b, or 0 if b is too short to tell.
func frameLen(b []byte) int {
	const key = "MPA ID Re"
	switch {
	case len(b) < 2:
		return 0
	case len(b) >= mpa.FrameHeaderLen && string(b[:len(key)]) == key:
		return mpa.FrameHeaderLen + int(binary.BigEndian.Uint16(b[18:]))
	case b[0] == key[0] && b[1] == key[1] && (len(b) < len(key) || string(b[:len(key)]) == key):
		return 0
	}
	n := int(binary.BigEndian.Uint16(b))
	return (2+n+3)&^3 + 4 // ULPDU_Length, the ULPDU and PAD are a multiple of 4; then the CRC
}

// all returns the frames seen so far.
func (w *wiretap) all() []frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]frame(nil), w.frames...)
}

// startup returns the Request or Reply of one end.
func (w *wiretap) startup(t *testing.T, sent bool) mpa.Frame {
	t.Helper()
	for _, f := range w.all() {
		if f.sent == sent {
			p, err := mpa.ParseFrame(f.octets)
			if err != nil {
				t.Fatalf("startup frame %x: %v", f.octets, err)
			}
			return p
		}
	}
	t.Fatal("no startup frame")
	return mpa.Frame{}
}

// fpdus returns the FPDUs of one end.
func (w *wiretap) fpdus(sent bool) []frame {
	var list []frame
	startup := true
	for _, f := range w.all() {
		if f.sent != sent {
			continue
		}
		if !startup {
			list = append(list, f)
		}
		startup = false
	}
	return list
}

// last describes the last n frames of both ends.
func (w *wiretap) last(n int) string {
	var b strings.Builder
	all := w.all()
	for _, f := range all[max(0, len(all)-n):] {
		from := "siw's"
		if f.sent {
			from = "our"
		}
		if _, err := mpa.ParseFrame(f.octets); err == nil {
			fmt.Fprintf(&b, "%s startup frame; ", from)
		} else {
			fmt.Fprintf(&b, "%s %v; ", from, f)
		}
	}
	return fmt.Sprintf("%s%d in all", &b, len(all))
}

// opcode returns the RDMAP opcode of an FPDU.
func (f frame) opcode() rdmap.Opcode {
	op, _ := rdmap.ParseControl(f.octets[3])
	return op
}

// last reports whether the FPDU ends its message.
func (f frame) last() bool { return f.octets[2]&0x40 != 0 }

// hasCRC reports whether the FPDU's CRC field is in use: siw and this stack leave it 0 with CRCs
// off.
func (f frame) hasCRC() bool { return binary.BigEndian.Uint32(f.octets[len(f.octets)-4:]) != 0 }

// logWrongCRCs logs the FPDUs whose CRC is wrong as the tap saw them. If a Terminate reports a
// wrong CRC and there is none, the Terminate's sender has damaged the octets itself.
func (w *wiretap) logWrongCRCs(t *testing.T) {
	for _, sent := range []bool{true, false} {
		wrong := 0
		list := w.fpdus(sent)
		for i, f := range list {
			end := len(f.octets) - 4
			got, want := binary.LittleEndian.Uint32(f.octets[end:]), crc32.Checksum(f.octets[:end], castagnoli)
			if !f.hasCRC() || got == want {
				continue
			}
			wrong++
			t.Logf("FPDU %d of %d (sent by this stack: %t), %v: CRC %08x, want %08x:\n%x", i, len(list), sent, f, got, want, f.octets)
		}
		t.Logf("%d of %d FPDUs have a wrong CRC (sent by this stack: %t)", wrong, len(list), sent)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// String returns the FPDU's opcode and length.
func (f frame) String() string {
	return fmt.Sprintf("%v of %d octets", f.opcode(), binary.BigEndian.Uint16(f.octets))
}

// mostReads returns the maximum number of unanswered Read Requests of one end at a time, as seen at
// this stack's end.
func (w *wiretap) mostReads(sent bool) int {
	now, most := 0, 0
	started := map[bool]bool{}
	for _, f := range w.all() {
		if !started[f.sent] {
			started[f.sent] = true // its startup frame
			continue
		}
		switch {
		case f.sent == sent && f.opcode() == rdmap.OpReadRequest:
			now++
		case f.sent != sent && f.opcode() == rdmap.OpReadResponse && f.last():
			now--
		}
		most = max(most, now)
	}
	return most
}
