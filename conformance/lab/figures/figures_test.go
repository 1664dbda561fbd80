package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// write runs the program on an input, and returns the document and the figures by the ends of their
// file names.
func write(t *testing.T, input string) (html string, figures map[string]string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := run([]string{"-html", file, "-svg", filepath.Join(dir, "f")}, strings.NewReader(input), io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "f-*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	figures = make(map[string]string)
	for _, name := range names {
		svg, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		figures[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "f-"), ".svg")] = string(svg)
	}
	return string(text), figures
}

// elements returns the number of elements of each name in a document. It checks that the document
// is well formed and refers to nothing outside.
func elements(t *testing.T, text string) map[string]int {
	t.Helper()
	count := make(map[string]int)
	for dec := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
			for _, a := range e.Attr {
				if name := a.Name.Local; name == "src" || name == "href" || strings.HasPrefix(name, "on") {
					t.Errorf("<%s %s=%q> refers to something outside, or is a script", e.Name.Local, name, a.Value)
				}
			}
		}
	}
	inside := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
	for _, bad := range []string{"url(", "@import", "http:", "https:"} {
		if strings.Contains(inside, bad) {
			t.Errorf("the document contains %q", bad)
		}
	}
	return count
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPerf: the document of a measurement has all results, and a bar for each step. Each operation
// has a panel, with plain TCP.
func TestPerf(t *testing.T) {
	html, figures := write(t, testdata(t, "perf.json"))
	count := elements(t, html)
	if count["svg"] != 5 || len(figures) != 5 || count["script"] != 0 || count["link"] != 0 {
		t.Errorf("%d figures, elements: %v", len(figures), count)
	}
	const results, breakdowns, steps = 20, 4, 12 + 2 + 6
	if rows := 1 + results + breakdowns*(1+steps); count["tr"] != rows || count["table"] != 1+breakdowns {
		t.Errorf("%d rows and %d tables, want %d and %d", count["tr"], count["table"], rows, 1+breakdowns)
	}
	for name, patterns := range map[string][]string{
		"throughput": {`(?s)>MB/s by bytes of an operation\.\nwrite\n.*write ×16 batch: 64 B: \d+.* \([\d.]+ to [\d.]+\); 4 KiB: .*\ntcp: 64 B: `},
		"ratio":      {`(?s)\nwrite\nwrite ×1: 64 B: .* \([\d.]+ to [\d.]+\).*\nmessage\nmessage: 64 B: `},
		"latency":    {`(?s)>µs by .*\nmessage\nmessage: 64 B: .*\nmessage no CRC: .*\ntcp-echo: 64 B: `},
		"rate":       {`>write<`, `>message<`},
		"cpu":        {`seconds per GB`},
	} {
		for _, pattern := range patterns {
			if !regexp.MustCompile(pattern).MatchString(figures[name]) {
				t.Errorf("the figure %s does not match %s", name, pattern)
			}
		}
	}
}

// TestScale: with several numbers of connections, the figures are by that number for each size.
func TestScale(t *testing.T) {
	html, figures := write(t, testdata(t, "scale.json"))
	if count := elements(t, html); count["table"] != 2 || count["svg"] != len(figures) || len(figures) != 4 {
		t.Errorf("%d figures, elements: %v", len(figures), count)
	}
	if svg := figures["rate-1024"]; !regexp.MustCompile(`(?s)<title>Message rate, 1 KiB</title>.*by connections\.\necho\necho: 1: .*; 64: .*\ntcp-echo: 1: `).MatchString(svg) {
		t.Errorf("the figure of the rate is\n%s", svg)
	}
}

// TestTextIsEscaped: the name of a peer or a machine does not become an element.
func TestTextIsEscaped(t *testing.T) {
	html, _ := write(t, `{"kind":"settings","machine":"<script>x</script>","servers":["<b>&host</b>:1"],"conns":[1]}
{"kind":"result","op":"<b>","size":64,"msgs_per_s":5,"bytes_per_s":320,"reference":"tcp"}`)
	if count := elements(t, html); count["script"] != 0 || count["b"] != 0 || count["svg"] == 0 {
		t.Errorf("elements: %v", count)
	}
}

// TestEngineDocument: the plots of docs/engine.md show the command's results. The test compares
// their values.
func TestEngineDocument(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	cmd := exec.Command("go", "run", "./conformance/lab/model", "-json")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	html, figures := write(t, string(out))
	if count := elements(t, html); count["table"] != 5 || count["tr"] != 5*(1+2*11) || count["svg"] != 2 {
		t.Errorf("elements: %v", count)
	}
	values := regexp.MustCompile(`(?s)<desc>.*</desc>`)
	for name, svg := range figures {
		file, err := os.ReadFile(filepath.Join(root, "docs", "engine-"+name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if want := values.FindString(svg); values.FindString(string(file)) != want || strings.Count(want, ";") != 5*2*(11-1) {
			t.Errorf("docs/engine-%s.svg has other values than this draws: model -json | go run -C conformance/lab ./figures -svg \"$PWD/docs/engine\"", name)
		}
	}
}

// TestBenchmarksDocument: the plots of docs/benchmarks.md are those of the measurements in
// conformance/bench, and both have the same axes.
func TestBenchmarksDocument(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, control := range []string{"cubic", "bbr"} {
		file := filepath.Join(t.TempDir(), "ratios.svg")
		if err := run([]string{"-ratios", file, filepath.Join(root, "conformance", "bench", "ratios-"+control+".json")}, nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		drawn, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		elements(t, string(drawn))
		svg := filepath.Join(root, "docs", "benchmarks-"+control+".svg")
		if old, err := os.ReadFile(svg); err != nil || string(old) != string(drawn) {
			t.Errorf("%s is not what figures -ratios draws, %v", svg, err)
		}
		for _, want := range []string{", " + control + "</title>", "\nRDMA Read, 16 under way: 64 B: ", ">0.2</text>", ">20</text>", `width="362"`} {
			if !strings.Contains(string(drawn), want) {
				t.Errorf("%s: no %q", svg, want)
			}
		}
	}
	if err := run([]string{"-ratios", filepath.Join(t.TempDir(), "f")}, strings.NewReader(`{"kind":"parameters"}`), io.Discard); err == nil {
		t.Error("-ratios takes the output of model")
	}
}

func TestWrongInput(t *testing.T) {
	for input, want := range map[string]string{
		"":                  "the input is empty",
		"{}":                "line 1: neither rddp perf --json nor model -json begins with the kind ",
		"no":                "line 1: no JSON object: ",
		`{"kind":"result"}`: "line 1: neither ",
		`{"kind":"settings"}` + "\n" + `{"kind":"parameters"}`:          "line 2: unknown kind parameters",
		`{"kind":"settings"}` + "\n" + `{"kind":"result","op":1}`:       "line 2: an object of the kind result: ",
		`{"kind":"parameters"}` + "\n" + `{"kind":"idle"}`:              "line 2: unknown kind idle",
		`{"kind":"settings"}` + "\n" + strings.Repeat(" ", longestLine): "line 2: cannot be read: ",
	} {
		_, err := read(strings.NewReader(input))
		if wrong := (*InputError)(nil); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("read(%.60q) = %v, want %s", input, err, want)
		}
	}
	for _, args := range [][]string{nil, {"-html", "a", "b", "c"}, {"-none"}, {"-svg", "a", filepath.Join(t.TempDir(), "none")}} {
		if err := run(args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"perf.json", "scale.json"} {
		f.Add(testdata(f, name))
	}
	f.Add(`{"kind":"parameters","link":"1 Gb/s"}` + "\n" + `{"kind":"result","link":"1 Gb/s","size":1}`)
	f.Fuzz(func(t *testing.T, input string) {
		s, err := read(strings.NewReader(input))
		if wrong := (*InputError)(nil); err != nil && !errors.As(err, &wrong) {
			t.Errorf("%v is a %T", err, err)
		}
		if err == nil {
			s.page()
		}
	})
}
