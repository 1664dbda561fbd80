//go:build interop

package interop

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dissect is tshark's command line for iWARP: heuristics first, and without the dissectors that
// decode Sends as other protocols.
var dissect = []string{"-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "smb_direct",
	"--disable-protocol", "rpcordma", "-V", "-O", "iwarp_mpa,iwarp_ddp_rdmap"}

// A capture contains each FPDU of a connection, and tshark finds every CRC good.
func TestCapture(t *testing.T) {
	g := Start(t)
	g.SetSiw(t, "mpa_crc_required=1")
	file := filepath.Join(t.TempDir(), "siw.pcap")
	stop := g.Capture(t, "lo", file)
	p := newPair(t, g, pairConfig{})
	p.client.Do("do op=send n=5 len=10")
	p.client.Do("do op=sendse n=3 len=10")
	p.client.Do("do op=read n=2 len=10 to=%d stag=%d", p.toServer.TO, p.toServer.STag)
	p.server.Wait("rq", 8)
	p.end(t)
	stop()
	out, err := exec.Command("tshark", append([]string{"-r", file}, dissect...)...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	for _, want := range []struct {
		text string
		n    int
	}{
		{"OpCode: Send (", 5}, {"OpCode: Send with SE (", 3}, {"OpCode: Read Request (", 2}, {"OpCode: Read Response (", 2},
		{"(Good CRC32)", 12}, {"Bad CRC", 0}, {"Malformed", 0},
	} {
		if got := strings.Count(string(out), want.text); got != want.n {
			t.Errorf("tshark says %q %d times, want %d", want.text, got, want.n)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// tshark finds every FPDU between this stack and siw, and every CRC good.
func TestRddpCapture(t *testing.T) {
	for _, siwInitiates := range []bool{false, true} {
		t.Run(roleOfSiw(siwInitiates), func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, "mpa_crc_required=1", "fix_split_trailer=1") // siw's fault "split trailer"
			file := filepath.Join(t.TempDir(), "rddp.pcap")
			stop := g.Capture(t, "eth0", file)
			l := newLink(t, g, LinkConfig{siwInitiates: siwInitiates})
			sendFromSiw(t, l)
			writeToSiw(t, l)
			readSiw(t, l)
			readBySiw(t, l)
			l.end(siwInitiates)
			stop()
			out, err := exec.Command("tshark", append([]string{"-r", file}, dissect...)...).Output()
			if err != nil {
				t.Fatalf("tshark: %v", err)
			}
			fpdus := len(l.seen.fpdus(true)) + len(l.seen.fpdus(false))
			for text, want := range map[string]int{"(Good CRC32)": fpdus, "Bad CRC": 0, "Malformed": 0} {
				if got := strings.Count(string(out), text); got != want {
					t.Errorf("tshark says %q %d times, want %d", text, got, want)
				}
			}
		})
	}
}
