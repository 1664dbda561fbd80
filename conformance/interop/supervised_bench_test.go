//go:build interop

package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// guestDevices are the devices of the guest, each with the words before a program's name.
var guestDevices = []struct {
	desc, prefix string
	port         int // of TCP, where the server listens
}{
	{"siw", "", supervisedPort},
	{"iwarp", "rddp run --iwarp --address " + GuestIP + " ", supervisedPort},
	{"joined", "rddp run --address " + GuestIP + " ", joinedPort},
}

// BenchmarkNextToSiw runs perftest in the guest, in turns: with both ends over siw, and with both
// ends under rddp run, with each face. Each metric is a median over the rounds. Without KVM, the
// guest's processors are emulated.
func BenchmarkNextToSiw(b *testing.B) {
	g := Start(b)
	putRddp(b, g)
	for _, program := range []struct {
		line   string
		column int // of the relevant result
		unit   string
	}{
		{"ib_write_bw -F -R -s 65536 -n 300", 3, "MB/s"},
		{"ib_write_bw -F -R -s 1048576 -n 30", 3, "MB/s"},
		{"ib_write_lat -F -R -s 64 -n 500", 4, "µs"}, // the typical one
	} {
		b.Run(program.line, func(b *testing.B) {
			results := make([][]float64, len(guestDevices))
			for range b.N {
				for i, d := range guestDevices {
					results[i] = append(results[i], perftest(b, g, d.prefix+program.line, d.port, program.column))
				}
			}
			for i, all := range results {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], guestDevices[i].desc+"-"+program.unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// putRddp puts cmd/rddp into the guest.
func putRddp(b testing.TB, g *Guest) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "rddp")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/rddp/rddp/cmd/rddp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building cmd/rddp: %v\n%s", err, out)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	g.Put(b, "/usr/bin/rddp", binary, 0o755)
}

// perftest runs a program of perftest at both ends, and returns one column of its result. port is
// where the server listens.
func perftest(b *testing.B, g *Guest, line string, port, column int) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	line = fmt.Sprintf("%s -p %d", line, supervisedPort)
	for {
		server, err := g.StartProcess(ctx, strings.Fields(line)...)
		if err != nil {
			b.Fatal(err)
		}
		g.AwaitListener(b, port)
		client, err := g.Run(ctx, strings.Fields(line+" "+GuestIP)...)
		server.Kill()
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(client.Stderr, "RDMA_CM_EVENT_REJECTED") { // see encounter.late
			continue
		}
		for l := range strings.Lines(client.Stdout) {
			f := strings.Fields(l)
			if len(f) <= column {
				continue
			}
			if _, err := strconv.Atoi(f[0]); err != nil {
				continue
			}
			if v, err := strconv.ParseFloat(f[column], 64); err == nil {
				return v
			}
		}
		b.Fatalf("%s: exit status %d\n%s%s", line, client.Code, client.Stdout, client.Stderr)
	}
}
