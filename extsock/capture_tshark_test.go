//go:build tshark

package extsock_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTsharkDecodesCaptures: in captures that began in the middle of busy connections, Wireshark
// finds the same FPDUs as package dissect, and nothing malformed.
func TestTsharkDecodesCaptures(t *testing.T) {
	for _, tt := range captureLinks {
		if !tt.tshark { // internal/dissect tells what of markers it gets right, and what wrong
			continue
		}
		t.Run(tt.desc, func(t *testing.T) {
			file, _ := captureBusy(t, tt.pair, tt.i, tt.r)
			want := decode(t, file, !tt.i.NoCRC).fpdus
			name := filepath.Join(t.TempDir(), "capture.pcapng")
			if err := os.WriteFile(name, file, 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd := exec.Command("tshark", "-r", name, "-V", "-O", "iwarp_mpa,iwarp_ddp_rdmap", "-o", "tcp.try_heuristic_first:TRUE",
				"--disable-protocol", "smb_direct", "--disable-protocol", "rpcordma")
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("tshark: %v: %s", err, stderr.String())
			}
			if n := bytes.Count(out, []byte("ULPDU length: ")); n != want {
				t.Errorf("tshark finds %d FPDUs, want %d", n, want)
			}
			if n := bytes.Count(out, []byte("Remote Direct Memory Access Protocol")); n < want {
				t.Errorf("tshark finds %d DDP Segments, want %d", n, want)
			}
			if good := bytes.Count(out, []byte("(Good CRC32)")); !tt.i.NoCRC && good != want {
				t.Errorf("tshark finds %d good CRCs, want %d", good, want)
			}
			for _, fault := range []string{"Malformed", "Bad CRC32", "does not contain the expected length"} {
				if bytes.Contains(out, []byte(fault)) {
					t.Errorf("tshark finds %q", fault)
				}
			}
		})
	}
}
