package main

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The events that the tracer counts.
const (
	eventCopy = "copy" // a copy in a program
	eventCRC  = "crc"  // a CRC that does not copy
	eventSend = "sock_send_length"
	eventRecv = "sock_recv_length"
)

// A probe counts the bytes of the calls of a function.
type probe struct {
	function string // the end of its name in this program
	event    string
	length   string // where the function finds its length
}

const (
	tracing  = "/sys/kernel/tracing"
	group    = "rddpstudy" // of the probes, and the name of the instance
	minimum  = 64          // bytes of a copy that counts
	bufferKB = 64 << 10    // for each CPU
)

// A tracer counts the events of this program's threads, and of the parts that it starts.
type tracer struct{ dir string }

// newTracer sets the probes. The caller must call close.
func newTracer() (_ *tracer, err error) {
	t := &tracer{filepath.Join(tracing, "instances", group)}
	if len(probes) == 0 {
		return nil, errors.ErrUnsupported
	}
	places, file, err := findFunctions()
	if err != nil {
		return nil, err
	}
	for i, p := range probes {
		place, ok := places[p.function]
		if !ok {
			return nil, fmt.Errorf("no function %s in this program", p.function)
		}
		line := fmt.Sprintf("p:%s/%s%d %s:%#x n=%s:u64", group, p.event, i, file, place, p.length)
		if err := appendTo(filepath.Join(tracing, "uprobe_events"), line); err != nil {
			return nil, errors.Join(fmt.Errorf("this study counts with the kernel's tracing, as root and after `mount -t tracefs tracefs %s`: %w", tracing, err), t.close())
		}
	}
	if err := t.arm(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// arm selects the events to count.
func (t *tracer) arm() error {
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return err
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	var pids []string
	for _, thread := range threads {
		pids = append(pids, thread.Name())
	}
	return errors.Join(
		t.set("options/event-fork", "1"),
		t.set("set_event_pid", strings.Join(pids, " ")),
		t.set("buffer_size_kb", strconv.Itoa(bufferKB)),
		t.set("events/"+group+"/filter", fmt.Sprintf("n >= %d", minimum)),
		t.set("events/"+group+"/enable", "1"),
		t.set("events/sock/"+eventSend+"/filter", "ret > 0"), t.set("events/sock/"+eventSend+"/enable", "1"),
		t.set("events/sock/"+eventRecv+"/filter", "ret > 0"), t.set("events/sock/"+eventRecv+"/enable", "1"),
	)
}

// close removes the probes.
func (t *tracer) close() error {
	var errs []error
	if _, err := os.Stat(t.dir); err == nil {
		errs = append(errs, t.set("events/enable", "0"), os.Remove(t.dir))
	}
	for i, p := range probes {
		_ = appendTo(filepath.Join(tracing, "uprobe_events"), fmt.Sprintf("-:%s/%s%d", group, p.event, i)) // if it was set
	}
	return errors.Join(errs...)
}

func (t *tracer) set(file, text string) error {
	return os.WriteFile(filepath.Join(t.dir, file), []byte(text), 0)
}

func appendTo(file, line string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line)
	return errors.Join(err, f.Close())
}

// begin resets the counts and starts counting.
func (t *tracer) begin() error { return errors.Join(t.set("trace", ""), t.set("tracing_on", "1")) }

// end returns the counts since begin.
func (t *tracer) end() (counts, error) {
	if err := t.set("tracing_on", "0"); err != nil { // reading would add to the trace
		return nil, err
	}
	f, err := os.Open(filepath.Join(t.dir, "trace"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseTrace(f)
}

// counts are the bytes of each event on each CPU.
type counts map[place]int

type place struct {
	cpu   int
	event string
}

var errTrace = errors.New("the trace has lost events, or is not understood")

// parseTrace counts the events of a trace: lines such as
//
//	sink-123  [001] .....  1.234567: copy0: (0x46c0e0) n=4096
//	sink-123  [001] .....  1.234567: sock_recv_length: sk address = 1, family = AF_INET protocol = IPPROTO_TCP, length = 4096, error = 0, flags = 0x0
func parseTrace(r io.Reader) (counts, error) {
	sum := make(counts)
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return sum, s.Err()
		}
		line := s.Text()
		if strings.HasPrefix(line, "#") {
			var kept, written int
			if _, err := fmt.Sscanf(line, "# entries-in-buffer/entries-written: %d/%d", &kept, &written); err == nil && kept != written {
				return nil, fmt.Errorf("%w: %s", errTrace, line)
			}
			continue
		}
		p, n, err := parseEvent(line)
		if err != nil {
			return nil, err
		}
		sum[p] += n
	}
}

// parseEvent returns the event of a line, and its bytes. It returns 0 bytes for sockets other than
// TCP's.
func parseEvent(line string) (p place, n int, err error) {
	_, rest, found := strings.Cut(line, "[")
	cpu, rest, ended := strings.Cut(rest, "]")
	_, rest, timed := strings.Cut(rest, ": ")
	event, rest, named := strings.Cut(rest, ": ")
	p.cpu, err = strconv.Atoi(cpu)
	if !found || !ended || !timed || !named || err != nil {
		return p, 0, fmt.Errorf("%w: %q", errTrace, line)
	}
	p.event = strings.TrimRight(event, "0123456789")
	text := rest
	if _, after, ok := strings.Cut(rest, "n="); ok {
		text = after
	} else if _, after, ok := strings.Cut(rest, "length = "); ok && strings.Contains(rest, "IPPROTO_TCP") {
		text, _, _ = strings.Cut(after, ",")
	} else if strings.HasPrefix(event, "sock_") {
		return p, 0, nil // of another protocol
	}
	if n, err = strconv.Atoi(text); err != nil {
		return p, 0, fmt.Errorf("%w: %q", errTrace, line)
	}
	return p, n, nil
}

// findFunctions returns the offsets of the probes' functions in the file of this program. The file
// needs no symbols.
func findFunctions() (places map[string]uint64, file string, err error) {
	if file, err = os.Executable(); err != nil {
		return nil, "", err
	}
	f, err := elf.Open(file)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	places = make(map[string]uint64)
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		for pc := s.Vaddr; pc < s.Vaddr+s.Filesz; pc += 16 { // functions begin at multiples of 16 or 32
			fn := runtime.FuncForPC(uintptr(pc))
			if fn == nil || uint64(fn.Entry()) != pc {
				continue
			}
			for _, p := range probes {
				// A function in assembly has a wrapper of the same name for calls from Go.
				if source, _ := fn.FileLine(uintptr(pc)); strings.HasSuffix(fn.Name(), p.function) && strings.HasSuffix(source, ".s") {
					places[p.function] = pc - s.Vaddr + s.Off
				}
			}
		}
	}
	return places, file, nil
}
