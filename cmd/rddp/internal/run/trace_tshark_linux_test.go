//go:build verbs && tshark && (amd64 || arm64)

package run

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTsharkDecodesPrograms: Wireshark finds in the captures what programs have said to each other,
// and nothing malformed, lost or out of order.
func TestTsharkDecodesPrograms(t *testing.T) {
	opcodes := map[string]string{
		"rdma-write": "0x00", "rdma-read-request": "0x01", "rdma-read-response": "0x02", "send": "0x03", "atomic-request": "0x0a", "atomic-response": "0x0b",
	}
	for _, tt := range tracedPairs {
		if len(tt.messages) == 0 {
			continue
		}
		t.Run(fmt.Sprint(tt.face, " ", tt.other), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(traceOfTest, dir)
			runProgramPair(t, tt.face, tt.first, tt.other)
			want := captured(t, dir)
			files, err := filepath.Glob(filepath.Join(dir, "*.pcapng"))
			if err != nil || len(files) != 2 {
				t.Fatalf("%q: %v", files, err)
			}
			got := make(map[string]int)
			for _, name := range files {
				for line := range strings.Lines(tshark(t, name, "-Y", "iwarp_ddp", "-T", "fields", "-E", "separator=;", "-e", "iwarp_rdma.opcode", "-e", "iwarp_ddp.last_flag")) {
					op, last, _ := strings.Cut(strings.TrimSpace(line), ";")
					ops, lasts := strings.Split(op, ","), strings.Split(last, ",")
					if len(ops) != len(lasts) {
						t.Fatalf("%s: %q", name, line)
					}
					for i := range ops {
						if lasts[i] == "1" || lasts[i] == "True" {
							got[ops[i]]++
						}
					}
				}
				if bad := tshark(t, name, "-Y", "_ws.malformed || tcp.analysis.lost_segment || tcp.analysis.out_of_order || tcp.analysis.retransmission"); bad != "" {
					t.Errorf("%s: %s", name, bad)
				}
			}
			for op := range tt.messages {
				if n := got[opcodes[op]]; n != want[op] {
					t.Errorf("tshark finds %d messages %s, want %d: %v", n, op, want[op], got)
				}
			}
		})
	}
}

func tshark(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command("tshark", append([]string{
		"-r", name, "-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "smb_direct", "--disable-protocol", "rpcordma",
	}, args...)...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return string(out)
}
