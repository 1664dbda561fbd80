//go:build amd64 || arm64

package run

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/panics"
)

// TestPanicOfLaterAnswer: a panic in a goroutine that answers a call is logged, and ends nothing
// else.
func TestPanicOfLaterAnswer(t *testing.T) {
	for name, later := range map[string]func(*slog.Logger, *seccomp.Program, *seccomp.Call, func()){
		"supervisor": func(l *slog.Logger, p *seccomp.Program, c *seccomp.Call, answer func()) {
			(&supervisor{log: l, program: p}).later(c, answer)
		},
		"tcpRelay": func(l *slog.Logger, p *seccomp.Program, c *seccomp.Call, answer func()) {
			(&tcpRelay{log: l, program: p}).later(c, answer)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			program := &seccomp.Program{Listener: new(seccomp.Listener)}
			later(slog.New(slog.NewTextHandler(&b, nil)), program, new(seccomp.Call), func() { panic("a planted bug") })
			synctest.Wait()
			if !strings.Contains(b.String(), "a planted bug") || panics.Count() != 0 {
				t.Errorf("%s: %d panics nobody has claimed, and the log is %q", name, panics.Count(), b.String())
			}
		})
	}
}

// TestPanicOfWatch: a panic in a goroutine that ends what a program has closed is logged, and ends
// nothing else.
func TestPanicOfWatch(t *testing.T) {
	lines := make(lines, 1)
	log := slog.New(slog.NewTextHandler(lines, nil))
	closed := func() (readEnd, writeEnd int) {
		t.Helper()
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return p[0], p[1]
	}
	said := func(of string) {
		t.Helper()
		if line := <-lines; !strings.Contains(line, `msg="a bug of rddp run" of="`+of) || panics.Count() != 0 {
			t.Errorf("%d panics nobody has claimed, and the log is %q", panics.Count(), line)
		}
	}

	near, far := closed()
	unix.Close(far)
	(&supervisor{log: log}).watch(&openFile{}, near) // whose opener is not there
	said("a device that is closed")

	var s channels
	if err := s.init(log); err != nil {
		t.Fatal(err)
	}
	near, far = closed()
	s.mu.Lock()
	s.files[far] = &channelFile{near: far, over: make(chan struct{})} // whose channel is not there
	s.mu.Unlock()
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, far, &unix.EpollEvent{Fd: int32(far)}); err != nil {
		t.Fatal(err)
	}
	unix.Close(near)
	said("an rdma_cm channel that is closed")
	unix.Close(far)
}

// lines is a Writer that passes on each line.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
