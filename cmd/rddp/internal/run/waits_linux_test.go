//go:build amd64 || arm64

package run

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestChannelWaits: a thread that waits for the events of a channel is seen, whatever call it
// makes, and whether it waits for other things, too.
func TestChannelWaits(t *testing.T) {
	in := func(fds ...int) (all []unix.PollFd) {
		for _, fd := range fds {
			all = append(all, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		return all
	}
	epoll := func(t *testing.T, fds ...int) int {
		e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(e) })
		for _, fd := range fds {
			if err := unix.EpollCtl(e, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
				t.Fatal(err)
			}
		}
		return e
	}
	for _, tt := range []struct {
		desc  string
		wait  func(t *testing.T, fd, other int)
		alone bool
	}{
		{"read", func(_ *testing.T, fd, _ int) { _, _ = unix.Read(fd, make([]byte, 1)) }, true},
		{"poll", func(_ *testing.T, fd, _ int) { _, _ = unix.Poll(in(fd), -1) }, true},
		{"poll of two", func(_ *testing.T, fd, other int) { _, _ = unix.Poll(in(other, fd), -1) }, false},
		{"poll beside an output", func(_ *testing.T, fd, other int) {
			_, _ = unix.Poll(append(in(fd), unix.PollFd{Fd: int32(other)}, unix.PollFd{Fd: -1, Events: unix.POLLIN}), -1)
		}, true},
		{"ppoll", func(_ *testing.T, fd, _ int) { _, _ = unix.Ppoll(in(fd), &unix.Timespec{Sec: 600}, nil) }, true},
		{"select", func(_ *testing.T, fd, other int) {
			var s unix.FdSet
			s.Set(fd)
			s.Set(other)
			_, _ = unix.Select(max(fd, other)+1, &s, nil, nil, nil)
		}, false},
		{"epoll", func(t *testing.T, fd, _ int) { _, _ = unix.EpollWait(epoll(t, fd), make([]unix.EpollEvent, 1), -1) }, true},
		{"epoll of two", func(t *testing.T, fd, other int) {
			_, _ = unix.EpollWait(epoll(t, fd, other), make([]unix.EpollEvent, 1), -1)
		}, false},
		{"poll of an epoll", func(t *testing.T, fd, _ int) { _, _ = unix.Poll(in(epoll(t, fd)), -1) }, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			pipe := func() (far, near int) { // os.Pipe would have the runtime wait for it
				var p [2]int
				if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) })
				return p[0], p[1]
			}
			fd, near := pipe()
			other, _ := pipe()
			ch := &channel{near: near, maker: os.Getpid(), fd: fd}
			ch.inode, _ = pipeOf(ch.maker, fd)
			if w := ch.Waits(); w.Thread != 0 {
				t.Fatalf("nobody waits yet: %+v", w)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				tt.wait(t, fd, other)
			}()
			var w check.Waiting
			prototest.Wait(t, "a thread that waits", func() bool { w = ch.Waits(); return w.Thread != 0 })
			if w.Alone != tt.alone || !w.Others {
				t.Errorf("%+v; want alone: %t", w, tt.alone)
			}
			if _, err := unix.Write(near, []byte{0, 0}); err != nil {
				t.Fatal(err)
			}
			<-done
			if w := ch.Waits(); w != (check.Waiting{}) {
				t.Errorf("an event is there: %+v", w)
			}
		})
	}
}
