package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/filecopy"
	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	supervise "github.com/rddp/rddp/cmd/rddp/internal/run"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// startMetrics starts a command with --metrics. It returns the address of the metrics, the pin that
// the command has printed, and its output.
func startMetrics(t *testing.T, line string) (address, pin string, errs *listening) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	errs = newListening()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, strings.Fields("rddp "+line), io.Discard, errs, commands()) }()
	t.Cleanup(func() {
		cancel()
		if status := <-ended; status != exitOK {
			t.Errorf("rddp %s: status %d, %v", line, status, errs)
		}
	})
	prototest.Wait(t, "the command listens", func() bool {
		select {
		case status := <-ended:
			ended <- status
			t.Fatalf("rddp %s: status %d, %v", line, status, errs)
		default:
		}
		return strings.Contains(errs.String(), " address=")
	})
	_, pin, _ = strings.Cut(errs.String(), "--tls-pin ")
	pin, _, _ = strings.Cut(pin, `"`)
	m := regexp.MustCompile(` msg=metrics address=\S+:(\d+)\n`).FindStringSubmatch(errs.String())
	if m == nil {
		t.Fatalf("rddp %s says %v", line, errs)
	}
	return "127.0.0.1:" + m[1], pin, errs
}

// TestTop: serve and proxy have metrics, and rddp top shows them.
func TestTop(t *testing.T) {
	for _, line := range []string{
		"serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 " + t.TempDir(),
		"proxy -l rddp://127.0.0.1:0 --to " + tcptest.Serve(t, tcptest.Echo) + " --metrics 127.0.0.1:0",
	} {
		name, _, _ := strings.Cut(line, " ")
		address, _, _ := startMetrics(t, line)
		if text := scrape(t, "http://"+address+"/metrics"); !strings.Contains(text, "\nrddp_connections_total ") || strings.Contains(text, "\nrddp_proxy_") != (name == "proxy") || strings.Contains(text, "\nrddp_serve_") != (name == "serve") {
			t.Errorf("the metrics of %s are\n%.2000s", name, text)
		}
		status, stdout, stderr := runs(t, commands(), "top", "--once", address)
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "rddp "+name+", up ") || !strings.Contains(stdout, "\nNUMBER  PEER ") {
			t.Errorf("rddp top: status %d, stderr %q\n%s", status, stderr, stdout)
		}
		status, stdout, stderr = runs(t, commands(), "top", "--once", "--json", address)
		var p monitor.Process
		first, _, _ := strings.Cut(stdout, "\n")
		if err := json.Unmarshal([]byte(first), &p); err != nil || status != exitOK || stderr != "" || p.Kind != "process" || p.Command != "rddp "+name {
			t.Errorf("rddp top --json: status %d, %v, stderr %q\n%s", status, err, stderr, stdout)
		}
	}
}

// TestMetricsTLS: beyond loopback, the metrics use the server's TLS.
func TestMetricsTLS(t *testing.T) {
	address, pin, _ := startMetrics(t, "serve --tls-self --listen 127.0.0.1:0 --metrics 0.0.0.0:0 "+t.TempDir())
	status, stdout, stderr := runs(t, commands(), "top", "--once", "--tls-pin", pin, address)
	if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "rddp serve, up ") {
		t.Errorf("rddp top --tls-pin: status %d, stderr %q\n%s", status, stderr, stdout)
	}
	for _, tt := range []struct{ flags, want string }{
		{"", "rddp top: " + address + " speaks TLS: give --tls-pin, --tls-ca or --tls-server-name\n"},
		{"--tls-pin sha256//" + strings.Repeat("A", 43) + "=", "pin"},
	} {
		args := append(append([]string{"top", "--once"}, strings.Fields(tt.flags)...), address)
		if status, stdout, stderr := runs(t, commands(), args...); status != exitFailure || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("rddp %v: status %d, stdout %q, stderr %q, want %q", args, status, stdout, stderr, tt.want)
		}
	}
	plain, _, _ := startMetrics(t, "serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 "+t.TempDir())
	if _, _, stderr := runs(t, commands(), "top", "--tls-pin", pin, plain); stderr != "rddp top: "+plain+" speaks no TLS\n" {
		t.Errorf("TLS to a plain port: %q", stderr)
	}
}

func TestMetricsUsage(t *testing.T) {
	const beyond = "other hosts could connect without TLS: give "
	for _, tt := range []struct {
		line, want string
		status     int
	}{
		{"serve --metrics here .", `"here" has no port`, exitUsage},
		{"serve --metrics :0 .", "listening at :0: " + beyond + "an address of loopback, or --insecure, or, for a TLS server", exitUsage},
		{"proxy -l 127.0.0.1:0 --to rddp://far --metrics 0.0.0.0:0", "listening at 0.0.0.0:0: " + beyond, exitUsage},
		{"run --metrics :0 true", "listening at :0: " + beyond, exitUsage},
		{"run --tcp :80 --insecure --metrics here true", `"here" has no port`, exitUsage},
		{"run --insecure --metrics here true", `"here" has no port`, exitUsage},
		{"run --tls-self --metrics :0 true", "--tls-self needs --tcp or --tcp-listen", exitUsage},
		{"run --metrics unix:/x true", "only `rddp proxy` has unix sockets", exitUsage},
		{"serve --insecure --metrics 192.0.2.1:1 .", "bind: ", exitFailure},
		{"top", "give one ADDRESS", exitUsage},
		{"top a:1 b:1", "give one ADDRESS", exitUsage},
		{"top 127.0.0.1", `"127.0.0.1" has no port: write HOST:PORT`, exitUsage},
		{"top --interval 0s 127.0.0.1:1", "--interval 0s: must be more than zero", exitUsage},
		{"top --timeout 0s 127.0.0.1:1", "--timeout 0s: must be more than zero", exitUsage},
		{"top --once -i 1s 127.0.0.1:1", "give either --once or --interval", exitUsage},
		{"top 127.0.0.1:1", "connecting to 127.0.0.1:1: connect: ", exitFailure},
	} {
		status, stdout, stderr := runs(t, commands(), strings.Fields(tt.line)...)
		name, _, _ := strings.Cut(tt.line, " ")
		if status != tt.status || stdout != "" || !strings.HasPrefix(stderr, "rddp "+name+": ") || !strings.Contains(stderr, tt.want) {
			t.Errorf("rddp %s: status %d, stdout %q, stderr %q, want %d and %q", tt.line, status, stdout, stderr, tt.status, tt.want)
		}
	}
}

// TestTopInterrupted: an interrupt before the first answer is a failure; later it is success.
func TestTopInterrupted(t *testing.T) {
	address, _, _ := startMetrics(t, "serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 "+t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	out := newListening() // a view is one Write
	go func() {
		<-out.lines
		<-out.lines
		cancel()
	}()
	var stderr strings.Builder
	if status := run(ctx, strings.Fields("rddp top --interval 1ms "+address), out, &stderr, commands()); status != exitOK || stderr.String() != "" || !strings.Contains(out.String(), "\n\nrddp serve, up ") {
		t.Errorf("status %d, stderr %q, stdout\n%v", status, &stderr, out)
	}
	if status := run(ctx, strings.Fields("rddp top "+address), io.Discard, &stderr, commands()); status != exitInterrupted || stderr.String() != "rddp top: interrupted\n" {
		t.Errorf("interrupted at once: status %d, stderr %q", status, &stderr)
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Timeout: prototest.Patience(t), Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", r.StatusCode, err)
	}
	return string(b)
}

// exported returns the names of all metrics of all commands, and all their labels in the form
// name="value".
func exported(t *testing.T) (names, labels []string) {
	t.Helper()
	all := slices.Concat(proxyMetrics(proxy.NewRouter(nil)), runMetrics(new(supervise.TCPCounts)), fileMetrics(new(filecopy.Counts)))
	s := httptest.NewServer(monitor.Handler("rddp test", all...))
	defer s.Close()
	text := scrape(t, s.URL+"/metrics")
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names, regexp.MustCompile(`\w+="[^"]*"`).FindAllString(text, -1)
}

var metricName = regexp.MustCompile(`\b(?:rddp|go|process)_[a-z0-9_]+\b`)

// TestDashboard: all metrics and labels in the dashboard, the alerts and the monitoring document
// are exported.
func TestDashboard(t *testing.T) {
	names, labels := exported(t)
	b, err := os.ReadFile("../../docs/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	exprs := make(map[string]string)
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			exprs[target.Expr] = p.Title
		}
	}
	for _, file := range []string{"docs/monitoring.md", "docs/alerts.yaml"} {
		doc, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		exprs[string(doc)] = file
	}
	label := regexp.MustCompile(`(\w+)=~?"([^"]*)"`)
	by := regexp.MustCompile(`\bby \((\w+)\)`)
	checked := 0
	for expr, where := range exprs {
		for _, name := range metricName.FindAllString(expr, -1) {
			if checked++; !slices.Contains(names, name) {
				t.Errorf("%s: there is no metric %s", where, name)
			}
		}
		for _, m := range label.FindAllStringSubmatch(expr, -1) {
			if m[1] == "instance" || m[1] == "job" { // Prometheus's
				continue
			}
			for value := range strings.SplitSeq(m[2], "|") {
				if l := m[1] + `="` + value + `"`; !slices.Contains(labels, l) {
					t.Errorf("%s: no metric has the label %s", where, l)
				}
			}
		}
		for _, m := range by.FindAllStringSubmatch(expr, -1) {
			if !slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(l, m[1]+"=") }) {
				t.Errorf("%s: no metric has a label %s", where, m[1])
			}
		}
	}
	if len(dashboard.Panels) < 8 || checked < 30 {
		t.Errorf("%d panels, and %d names in them and in the document", len(dashboard.Panels), checked)
	}
}

// TestMonitoringIsComplete: the document names each of our metrics.
func TestMonitoringIsComplete(t *testing.T) {
	names, _ := exported(t)
	doc, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	in := metricName.FindAllString(string(doc), -1)
	for _, name := range names {
		if strings.HasPrefix(name, "rddp_") && !slices.Contains(in, name) {
			t.Errorf("docs/monitoring.md does not name %s", name)
		}
	}
}
