// Recording runs a command and draws what it prints as an SVG. Each line appears at its time, but
// no reader waits longer than longest for the next one:
//
//	go run ./.ci/recording -svg docs/demo.svg rddp demo
//
// A viewer that does not animate, and a reader who wants no animation, see all lines.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

func main() {
	file := flag.String("svg", "", "the `file` to write")
	flag.Parse()
	if err := run(*file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// A line of output, and the time from the start of the command to it.
type line struct {
	at   time.Duration
	text string
}

func run(file string, command []string) error {
	if file == "" || len(command) == 0 {
		return fmt.Errorf("usage: recording -svg FILE COMMAND [ARGUMENT]")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := []line{{0, "$ " + strings.Join(command, " ")}}
	s := bufio.NewScanner(io.TeeReader(out, os.Stdout))
	for s.Scan() {
		lines = append(lines, line{time.Since(begin), s.Text()})
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(draw(lines)), 0o644)
}

// The geometry, in pixels.
const (
	character  = 8.5 // of a monospaced font of 14 pixels; none is much wider
	lineHeight = 20
	margin     = 14
	columns    = 50 // at least: the width of a phone
)

// longest is the longest pause.
const longest = time.Second

const sheet = `.page { fill: #f6f8fa; } .text { fill: #1f2328; font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }
.text text { animation: wait 1ms step-end backwards; } @keyframes wait { from { visibility: hidden; } }
@media (prefers-reduced-motion: reduce) { .text text { animation: none; } }
@media (prefers-color-scheme: dark) { .page { fill: #16181d; } .text { fill: #d8dadf; } }`

// draw returns the lines as an SVG.
func draw(lines []line) string {
	wide := columns
	for _, l := range lines {
		wide = max(wide, utf8.RuneCountInString(l.text))
	}
	width, height := 2*margin+float64(wide)*character, 2*margin+lineHeight*len(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %[1]g %[2]d" role="img">
<title>%s</title>
<style>
%s
</style>
<rect width="100%%" height="100%%" rx="6" class="page"/>
<g class="text">
`, width, height, html.EscapeString(lines[0].text), sheet)
	var at, last time.Duration
	for i, l := range lines {
		at, last = at+min(l.at-last, longest), l.at
		fmt.Fprintf(&b, `<text x="%d" y="%d" style="animation-delay: %.2fs" xml:space="preserve">%s</text>`+"\n",
			margin, margin+lineHeight*i+15, at.Seconds(), html.EscapeString(l.text))
	}
	return b.String() + "</g>\n</svg>\n"
}
