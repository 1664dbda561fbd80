//go:build amd64 || arm64

package run

import (
	"errors"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/trace"
)

// do executes a command of the verbs.
func (s *supervisor) do(c *seccomp.Call, f *openFile, v *uverbs.Invocation, in, driverIn []byte) (out, driverOut []byte, err error) {
	from := &caller{s, c, f, v.Command}
	if s.trace == nil {
		return f.ctx.Do(from, v.Command, in, driverIn)
	}
	at := s.trace.Now()
	out, driverOut, told, err := f.ctx.DoAndTell(from, v.Command, in, driverIn)
	if told.Name == "" {
		told.Name = v.Command.String()
	}
	s.tell(c, at, told.Name, told.Arguments, told.Result, err)
	return out, driverOut, err
}

// tell writes a command to the trace that a thread has called at a time.
func (s *supervisor) tell(c *seccomp.Call, at time.Time, name, arguments, result string, err error) {
	if err != nil {
		result = failed(err)
	} else if result == "" {
		result = "0"
	}
	s.trace.Put(s.told(c, at, name, arguments, result))
}

// told returns the event that a thread has called a command at a time.
func (s *supervisor) told(c *seccomp.Call, at time.Time, name, arguments, result string) trace.Event {
	pid, _ := process.Leader(c.Thread) // or the thread has been killed
	return trace.Event{At: at, Dur: s.trace.Now().Sub(at), Kind: trace.Command, PID: pid, TID: c.Thread, Op: name, Text: arguments, Status: result}
}

// failed returns the result of a command that has failed, such as "EINVAL (sgid_index 7: …)".
func failed(err error) string {
	e := uverbs.ErrnoOf(err)
	why := e.Error()
	if r := (*uverbs.Refusal)(nil); errors.As(err, &r) {
		why = r.Rule
	}
	name := unix.ErrnoName(e)
	if name == "" {
		name = strconv.Itoa(int(e))
	}
	return name + " (" + why + ")"
}

// tellCM writes a command of rdma_cm to the trace.
func (s *supervisor) tellCM(c *seccomp.Call, at time.Time, cmd ucma.Command, in, out []byte, e syscall.Errno) {
	name, arguments := ucma.Tell(cmd, in)
	result, err := "", error(nil)
	if e != 0 {
		err = e
	} else if id, wrong := ucma.ParseNumber(out); cmd == ucma.CreateID && wrong == nil {
		result = "id " + strconv.Itoa(int(id))
	}
	s.tell(c, at, name, arguments, result, err)
}

// tellsEvent returns what writes to the trace that a thread has got an event of rdma_cm: the thread
// goes on, or has ended, as soon as it has it.
func (s *supervisor) tellsEvent(c *seccomp.Call, v *ucma.Event) func() {
	if s.trace == nil {
		return func() {}
	}
	result := "RDMA_CM_EVENT_" + v.Type.String() + ", id " + strconv.Itoa(int(v.ID))
	if v.Status != 0 {
		result += ", status " + strconv.Itoa(int(v.Status))
	}
	e := s.told(c, s.trace.Now(), "rdma_get_cm_event", "", result)
	return func() { s.trace.Put(e) }
}

// tellProcess writes the name of a process to the trace.
func (s *supervisor) tellProcess(pid int) {
	if s.trace == nil {
		return
	}
	if name := processName(pid); name != "" {
		s.trace.Put(trace.Event{Kind: trace.Process, PID: pid, Text: name + " (PID " + strconv.Itoa(pid) + ")"})
	}
}

// beginTrace begins the trace of c, if it asks for one. Text goes to standard error.
func beginTrace(c *Config) (*trace.Tracer, error) {
	if c.Trace == "" {
		return nil, nil
	}
	out, err := trace.Create(c.Trace)
	if err != nil {
		return nil, err
	}
	var f trace.Format = &trace.Timeline{Base: uint32(os.Getpid()) << 9} // another rddp run of this host has another one
	if c.Trace == "-" {
		f = new(trace.Text)
	}
	t := trace.New(out, f)
	c.Log = slog.New(t.Log(c.Log.Handler()))
	return t, nil
}

// endTrace writes the rest of the trace.
func (s *supervisor) endTrace() {
	if s.trace == nil {
		return
	}
	if lost, err := s.trace.Close(); lost > 0 || err != nil {
		s.log.Warn("the trace is not complete", "lost", lost, "err", err)
	}
}

// A capture is the file for what the devices say to each other.
type capture struct {
	packets *pcapng.Writer
	spool   trace.Spool
}

// beginCapture begins the capture of c, if it asks for one.
func beginCapture(c *Config) (*capture, error) {
	if c.Capture == "" {
		return nil, nil
	}
	out, err := trace.Create(c.Capture)
	if err != nil {
		return nil, err
	}
	spool := trace.NewSpool(out)
	w, err := pcapng.NewWriter(spool)
	if err != nil {
		return nil, err
	}
	w.Direct = true // a packet is lost as a whole, or not at all
	return &capture{w, spool}, nil
}

// writer returns what the device writes to, or nil.
func (c *capture) writer() *pcapng.Writer {
	if c == nil {
		return nil
	}
	return c.packets
}

// end writes the rest of the capture.
func (c *capture) end(log *slog.Logger) {
	if c == nil {
		return
	}
	_ = c.packets.Close() // a Spool does not fail
	if lost, err := c.spool.Close(); lost > 0 || err != nil {
		log.Warn("the capture is not complete", "lost", lost, "err", err)
	}
}
