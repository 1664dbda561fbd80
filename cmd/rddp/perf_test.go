package main

import (
	"bufio"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/perf"
)

func TestPerfUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "give one of --self, --listen ADDRESS, and the ADDRESS of one or more servers"},
		{"--listen 127.0.0.1 127.0.0.1", "give one of"},
		{"--self --listen 127.0.0.1", "give one of"},
		{"--self 127.0.0.1", "give one of"},
		{"127.0.0.1 far:x", "the port is a number"},
		{"--listen 7175", "write :7175"},
		{"--self --peers 0", "--peers 0"},
		{"--self --tls-pin sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "--tls-pin: "},
		{"--listen 127.0.0.1 --peers 2", "--peers 2"},
		{"--self --cpu 1", "--cpu 1: with --one-cpu only"},
		{"--self --op write,cry", `--op: "cry" is not one of`},
		{"--self --size 4x", `--size: "4x"`},
		{"--self --depth one", `--depth: "one" is not a number`},
		{"--self --conns many", `--conns: "many" is not a number`},
		{"--self --conns 1,0", "--conns: 0 is not between"},
		{"--self --depth 0", "--depth: 0 is not between"},
		{"--self --crc maybe", `--crc: "maybe"`},
		{"--self --post often", `--post: "often"`},
		{"--self --load light", `--load: "light"`},
		{"--self --rounds -1", "--rounds: -1"},
		{"--self --time 2m", "--time: 2m0s"},
		{"--self --rounds 0", "--rounds: 0: at least 1"},
		{"--self --time 0s", "--time: 0s: must be more than zero"},
		{"--self --time 5", `"5" is no duration`},
		{"--self --timeout 0s", "--timeout 0s"},
		{"--self --size 0", `--size: "0" is not a size`},
		{"--self --ring -1", `"-1" is no size`},
		{"--self --ring 16x", `"16x" is no size`},
		{"--self --ring 0", "--ring 0: 1 to"},
		{"--self --ring 4g", "--ring 4294967296: 1 to"},
		{"--self --buffer 0", "--buffer 0: 1 to"},
		{"--self --pause 5", `--pause: "5" is no duration`},
		{"--self --pause 2s", "--pause: [2s]: not between 0s and 1s"},
		{"--self --one-cpu --cpu -2", "--cpu -2"},
		{"--self --rows write", `--rows: "write" is not as op/crc/size/depth`},
		{"--self --rows echo/on/64/1 --op write", "it does not go with --op"},
		{"--self --rows echo/on/64/1 --crc off", "it does not go with --crc"},
		{"--self --rows write/on/64/200000/one", "--depth: 200000 is not between"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := runs(t, []*cli.Command{perfCommand()}, append([]string{"perf"}, strings.Fields(tt.args)...)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "rddp perf: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("rddp perf %s: status %d, stdout %q, stderr %q, want status %d and %q", tt.args, status, stdout, stderr, exitUsage, tt.want)
			}
		})
	}
}

// A client measures against a server; both end in an orderly way.
func TestPerfServerAndClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	errs := newListening()
	served := make(chan int, 1)
	go func() {
		served <- run(ctx, strings.Fields("rddp perf --listen 127.0.0.1:0"), new(strings.Builder), errs, []*cli.Command{perfCommand()})
	}()
	address := errs.address(<-errs.lines)
	for _, format := range []string{"--json", "--depth=1"} {
		status, stdout, stderr := runs(t, []*cli.Command{perfCommand()},
			strings.Fields("perf "+address+" --op write,echo --size 1k --time 1ms --rounds 1 "+format)...)
		if status != exitOK || stderr != "" {
			t.Errorf("client: status %d, stderr %q", status, stderr)
		}
		if format == "--json" {
			checkPerfJSON(t, stdout)
			continue
		}
		want := 7
		if runtime.GOOS == "linux" { // and the price of a page
			want++
		}
		if lines := strings.Split(stdout, "\n"); len(lines) != want || !strings.Contains(lines[1], "x TCP") {
			t.Errorf("client: %d lines, want %d:\n%s", len(lines), want, stdout)
		}
	}
	cancel()
	if status := <-served; status != exitOK {
		t.Errorf("server: status %d, stderr %s", status, errs)
	}
}

// checkPerfJSON checks that the first line contains the settings, and that each other line is a
// result.
func checkPerfJSON(t *testing.T, text string) {
	t.Helper()
	ops := make(map[string]int)
	first, rest, _ := strings.Cut(text, "\n")
	var settings struct {
		Kind string
		perf.Report
	}
	if err := json.Unmarshal([]byte(first), &settings); err != nil || settings.Kind != perf.KindSettings || settings.Date.IsZero() || settings.CPUs < 1 {
		t.Errorf("settings %s: %v", first, err)
	}
	for lines := bufio.NewScanner(strings.NewReader(rest)); lines.Scan(); {
		var r perf.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.MsgsPerS <= 0 || r.Size != 1024 {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		ops[r.Op]++
	}
	if ops["write"] != 3 || ops["echo"] != 1 || ops["tcp"] != 1 || ops["tcp-echo"] != 1 {
		t.Errorf("results: %v", ops)
	}
}
