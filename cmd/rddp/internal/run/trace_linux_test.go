//go:build amd64 || arm64

package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/timeline"
)

// traceOfTest is the environment variable with the folder in which each supervisor writes a trace
// and a capture, or a file for a trace, or "-" for a trace as text.
const traceOfTest = "RDDP_TEST_TRACE"

// traceFiles returns the files of this supervisor.
func traceFiles() (trace, capture string) {
	dir := os.Getenv(traceOfTest)
	if dir == "" || dir == "-" || strings.HasSuffix(dir, ".json") {
		return dir, ""
	}
	base := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	return base + ".json", base + ".pcapng"
}

// traces returns the events of all traces in a folder.
func traces(t *testing.T, dir string) []timeline.Event {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	file := []byte("[\n")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, bytes.TrimPrefix(b, []byte("[\n"))...)
	}
	all, err := timeline.Check(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// captured returns how many RDMAP messages of each kind end in the captures of a folder. Nothing in
// them is wrong.
func captured(t *testing.T, dir string) map[string]int {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.pcapng"))
	n := make(map[string]int)
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		err = dissect.Read(f, func(r dissect.Record) error {
			switch {
			case r.Kind == dissect.KindError || r.Kind == dissect.KindFPDU && r.Error != "" || r.CRC == dissect.CRCBad:
				t.Errorf("%s: %+v", name, r)
			case r.Kind == dissect.KindFPDU && r.Last:
				n[r.Op]++
			}
			return nil
		})
		_ = f.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return n
}

// TestTraceText: the trace of a program has its commands, in words of verbs.
func TestTraceText(t *testing.T) {
	c := under(performance(t, "leaves")...)
	c.Env = append(os.Environ(), traceOfTest+"=-")
	var text bytes.Buffer
	c.Stderr = &text
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	const stamp = `\[pid \d+\] \d\d:\d\d:\d\d\.\d{6} `
	for _, want := range []string{
		stamp + `the device is open: `, stamp + `ibv_open_device\(\) = fd \d+ for asynchronous events <0\.\d{6}>`, stamp + `ibv_alloc_pd\(\) = PD \d+ <`,
		stamp + `ibv_create_comp_channel\(\) = fd \d+ <`, stamp + `ibv_create_cq\(cqe 16, channel fd \d+\) = CQ \d+, cqe 31 <`,
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(text.String()) {
			t.Errorf("no line %s in\n%s", want, &text)
		}
	}
}

// eventNowhereProgram takes an event of rdma_cm to where there is no memory, and then as it should.
func eventNowhereProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	id, err := d.cm.ID(1, guest.TCPSpace)
	if err != nil {
		return err
	}
	if err := d.cm.Resolve(id, 1); err != nil {
		return err
	}
	e := error(syscall.EINTR)
	for e == syscall.EINTR { // signals of Go's runtime
		const command, in, out, nowhere = 12, 8, 336, 8
		b := binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint32(nil, command), in)
		_, e = unix.Write(d.cm.FD, binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint16(b, out), nowhere))
	}
	if e != syscall.EFAULT {
		return fmt.Errorf("an event for no memory: %w, want EFAULT", e)
	}
	_, err = d.cm.Event()
	return err
}

// TestTraceEventOnce: the trace has an event of rdma_cm once, although the program has not received
// it the first time.
func TestTraceEventOnce(t *testing.T) {
	c := under(performance(t, "event-nowhere")...)
	c.Env = append(os.Environ(), traceOfTest+"=-")
	var text bytes.Buffer
	c.Stderr = &text
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, &text)
	}
	if n := strings.Count(text.String(), "rdma_get_cm_event() = RDMA_CM_EVENT_"); n != 1 {
		t.Errorf("%d events in the trace, want 1:\n%s", n, &text)
	}
}

// TestTraceKilled: the trace of a supervisor that was killed has what has happened until then.
func TestTraceKilled(t *testing.T) {
	dir := t.TempDir()
	c := under(append([]string{"sh", "-c", `"$@"; echo; exec sleep 60`, "sh"}, performance(t, "leaves")...)...)
	c.Env = append(os.Environ(), traceOfTest+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the program has ended
		t.Error(err)
	}
	for !hasTrace(dir, "the device is closed") {
		t.Log("the trace is being written")
	}
	_ = c.Process.Signal(syscall.SIGKILL)
	_ = c.Wait()
	if all := traces(t, dir); timeline.Count(all, "X", "ibv_create_cq") != 1 {
		t.Errorf("the trace has %+v", all)
	}
}

// hasTrace reports whether a trace in a folder contains a text.
func hasTrace(dir, text string) bool {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// TestTraceUnwritable: a file that cannot be made is an error before the program runs.
func TestTraceUnwritable(t *testing.T) {
	c := under("true")
	c.Env = append(os.Environ(), traceOfTest+"="+filepath.Join(t.TempDir(), "none"))
	var text bytes.Buffer
	c.Stderr = &text
	if err := c.Run(); err == nil || !strings.Contains(text.String(), "no such file or directory") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestTraceReaderEnds: when the reader of the trace and the log has ended, the program runs on.
func TestTraceReaderEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	c := under(performance(t, "leaves")...)
	c.Env, c.Stderr = append(os.Environ(), traceOfTest+"=-"), w
	if err := c.Run(); err != nil {
		t.Error(err)
	}
}

// TestTraceNoReader: a pipe without a reader delays neither the program nor, for long, its end.
func TestTraceNoReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	c := under(performance(t, "leaves")...)
	c.Env = append(os.Environ(), traceOfTest+"="+name)
	if err := c.Run(); err != nil {
		t.Error(err)
	}
}
