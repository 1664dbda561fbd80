package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// deviceFolder is where Linux shows RDMA devices.
const deviceFolder = "/sys/class/infiniband"

// startTied starts a command that the kernel kills when this process ends, unless release has been
// called. The end of its standard input would not reach a program that is stopped. The kernel takes
// the end of the thread that has started the command for that of the process, so the thread is
// kept.
func startTied(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, released := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		<-released
	}()
	release = func() { close(released) }
	if err := <-started; err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// showDevice shows the device that o.Lender's program has, and reads that program's memory while it
// is stopped. Where there is no such device, it prints why.
func showDevice(ctx context.Context, o Options, out io.Writer) error {
	if len(o.Lender) == 0 {
		return nil
	}
	s, err := start(ctx, o.Lender)
	if err != nil {
		fmt.Fprintf(out, "device   not shown, because rddp run does not work here:\n         %v\n", err)
		return ctx.Err()
	}
	defer s.stop()
	here, err := os.ReadDir(deviceFolder)
	names := "none"
	if err == nil && len(here) > 0 {
		var all []string
		for _, e := range here {
			all = append(all, e.Name())
		}
		names = strings.Join(all, ", ")
	}
	fmt.Fprintf(out, "device   RDMA devices of this host: %s;\n         under rddp run: %s%s\n", names, s.device, o.devinfo(ctx))
	return s.readsOn(ctx, out)
}

// devinfo says what rdma-core's ibv_devinfo finds, if it is installed.
func (o Options) devinfo(ctx context.Context) string {
	if _, err := exec.LookPath("ibv_devinfo"); err != nil || len(o.DeviceInfo) == 0 {
		return ""
	}
	text, err := exec.CommandContext(ctx, o.DeviceInfo[0], o.DeviceInfo[1:]...).CombinedOutput()
	if err != nil {
		return "\n         ibv_devinfo finds none: " + strings.TrimSpace(string(text))
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "state" {
			return ", " + strings.TrimSpace(value)
		}
	}
	return ""
}

// readsOn reads the memory of the program while it runs, while it is stopped, and afterwards.
func (s *server) readsOn(ctx context.Context, out io.Writer) error {
	l, err := borrow(ctx, s.rdma, s.plain)
	if err != nil {
		return err
	}
	defer l.close()
	first, last, running, err := l.read(reads)
	if err != nil {
		return err
	}
	if _, err := l.ask(patience); err != nil {
		return fmt.Errorf("the running program, over TCP: %w", err)
	}
	program, err := os.FindProcess(s.pid)
	if err != nil {
		return err
	}
	if err := program.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer program.Signal(syscall.SIGCONT) // also after an error, so that it can end
	if err := awaitStop(s.pid); err != nil {
		return err
	}
	before, after, stopped, err := l.read(reads)
	switch {
	case err != nil:
		return fmt.Errorf("while the program is stopped: %w", err)
	case before != after || first == last && last == before:
		return fmt.Errorf("the counter is %d and %d while the program runs, %d and %d while it is stopped", first, last, before, after)
	}
	if n, err := l.ask(silence); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the stopped program answers %d over TCP, %v", n, err)
	}
	if err := program.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	if n, err := l.answer(patience); err != nil || n < after {
		return fmt.Errorf("the program that goes on answers %d over TCP, %v", n, err)
	}
	fmt.Fprintf(out, "stopped  %d RDMA Reads of a program's memory,\n"+
		"         %.0f µs each while it is stopped (SIGSTOP),\n"+
		"         %.0f µs while it runs; over TCP the stopped\n"+
		"         program answers nothing for %v\n",
		reads, microseconds(stopped), microseconds(running), silence)
	return nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// awaitStop waits until a process has stopped.
func awaitStop(pid int) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		// The format is PID (NAME) STATE. The name may contain any bytes.
		if rest := b[bytes.LastIndexByte(b, ')')+1:]; bytes.HasPrefix(rest, []byte(" T")) {
			return nil
		}
	}
	return errors.New("the program does not stop")
}
