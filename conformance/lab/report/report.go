// Package report writes measured figures into documents: a program generates the part between two
// marker lines, and files of plots next to the document.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// endMarker is the line after the generated part of a document.
const endMarker = "<!-- end figures -->"

// A Document is a text file with a generated part.
type Document struct {
	File string
	Make string // the target of make that generates the part: its name is in the first marker
}

// beginMarker returns the line before the generated part.
func (d Document) beginMarker() string {
	return fmt.Sprintf("<!-- begin figures: make %s writes them -->", d.Make)
}

// A MarkerError means that a document lacks the markers for the figures.
type MarkerError struct{ File, Begin, End string }

func (e *MarkerError) Error() string {
	return fmt.Sprintf("%s does not have the lines %q and %q, each once and in this order", e.File, e.Begin, e.End)
}

// Replace returns the text of the document with part as its generated part, or a *MarkerError.
func (d Document) Replace(document, part string) (string, error) {
	begin := d.beginMarker()
	before, rest, found := strings.Cut(document, begin+"\n")
	_, after, ended := strings.Cut(rest, endMarker+"\n")
	if !found || !ended || strings.Count(document, begin) != 1 || strings.Count(document, endMarker) != 1 {
		return "", &MarkerError{d.File, begin, endMarker}
	}
	return before + begin + "\n\n" + strings.TrimSpace(part) + "\n\n" + endMarker + "\n" + after, nil
}

// Write puts the generated part into the document, and the files, by name, next to it.
func (d Document) Write(part string, files map[string]string) error {
	old, err := os.ReadFile(d.File)
	if err != nil {
		return err
	}
	document, err := d.Replace(string(old), part)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(d.File), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(d.File, []byte(document), 0o644)
}

// Check reports whether Write could write the document. Programs call it before they measure.
func (d Document) Check() error {
	old, err := os.ReadFile(d.File)
	if err == nil {
		_, err = d.Replace(string(old), "")
	}
	return err
}

// Host describes the machine: processor, number of CPUs, memory, kernel. The process may be allowed
// to use fewer CPUs.
func Host() string {
	info := ReadText("/proc/cpuinfo")
	text := fmt.Sprintf("%s (%d CPUs", Field(info, "model name"), max(strings.Count(info, "\nprocessor")+1, runtime.NumCPU()))
	if strings.Contains(Field(info, "flags")+" ", " hypervisor ") {
		text += ", virtual machine"
	}
	text += ")"
	var kib float64
	if _, err := fmt.Sscanf(Field(ReadText("/proc/meminfo"), "MemTotal"), "%f kB", &kib); err == nil {
		text += fmt.Sprintf(", %.0f GiB", kib/(1<<20))
	}
	return text + ", Linux " + strings.TrimSpace(ReadText("/proc/sys/kernel/osrelease"))
}

// ReadText returns a file's text, or "" if it cannot be read.
func ReadText(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

// Field returns the value of the first line of the form "name : value".
func Field(text, name string) string {
	for line := range strings.Lines(text) {
		n, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
