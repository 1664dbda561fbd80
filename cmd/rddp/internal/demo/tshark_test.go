//go:build tshark

package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCaptureSatisfiesTshark decodes the demo's capture with Wireshark's decoder, which must find
// iWARP and nothing malformed.
func TestCaptureSatisfiesTshark(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Size: 1 << 20, Rounds: 1, Capture: filepath.Join(dir, "demo.pcapng"), Server: []string{self, "demo-server"}}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("tshark", "-r", filepath.Join(dir, "demo.pcapng"), "-V").CombinedOutput()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, text)
	}
	for _, bad := range []string{"Malformed", "Bad CRC", "[Expert Info (Error"} {
		if n := strings.Count(string(text), bad); n > 0 {
			t.Errorf("tshark says %q %d times", bad, n)
		}
	}
	for _, want := range []string{"iWARP Marker Protocol data unit Aligned framing", "OpCode: Write", "OpCode: Read Response", "OpCode: Send"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("tshark does not show %q", want)
		}
	}
}
