//go:build amd64 || arm64

package verbs

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// address returns the address of b, which is not empty.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// invoke sends a command to a uverbs device and fills the two answers.
func invoke(f *os.File, c call) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	span := func(b []byte) uverbs.Span {
		if len(b) == 0 {
			return uverbs.Span{}
		}
		pin.Pin(&b[0])
		return uverbs.Span{Addr: address(b), Len: len(b)}
	}
	input := func(b []byte) uverbs.Span {
		s := span(b)
		if 0 < len(b) && len(b) <= 8 { // such input is stored in the attribute itself
			var w [8]byte
			copy(w[:], b)
			s.Addr = *(*uint64)(unsafe.Pointer(&w))
		}
		return s
	}
	v := uverbs.Invocation{Command: c.cmd, In: input(c.in), DriverIn: input(c.driverIn), Out: span(c.out), DriverOut: span(c.driverOut)}
	b := uverbs.AppendIoctl(nil, &v, c.driver)
	pin.Pin(&b[0])
	return control(f, func(fd uintptr) error {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, fd, uverbs.Ioctl, uintptr(unsafe.Pointer(&b[0]))); e != 0 {
			return e
		}
		return nil
	})
}

// control calls do with the descriptor of f, which stays open during the call.
func control(f *os.File, do func(fd uintptr) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var e error
	if err := raw.Control(func(fd uintptr) { e = do(fd) }); err != nil {
		return err
	}
	return e
}

// command sends a command of rdma_cm. make makes its input, given the address of the answer, which
// has out bytes.
func command(f *os.File, cmd ucma.Command, out int, make func(response uint64) []byte) ([]byte, error) {
	answer, b, unpin := commandOf(cmd, out, make)
	defer unpin()
	err := control(f, func(fd uintptr) error { _, e := unix.Write(int(fd), b); return e })
	return answer, err
}

// commandOf returns a command of rdma_cm, and the memory of its answer, which stays where it is
// until unpin is called.
func commandOf(cmd ucma.Command, out int, input func(response uint64) []byte) (answer, b []byte, unpin func()) {
	pin := new(runtime.Pinner)
	answer = make([]byte, max(out, 1))
	pin.Pin(&answer[0])
	in := input(address(answer))
	return answer[:out], append(ucma.AppendHeader(nil, cmd, len(in), out), in...), pin.Unpin
}

// getEvent waits for an event of rdma_cm, until f is closed.
func getEvent(f *os.File) (ucma.Event, error) {
	answer, b, unpin := commandOf(ucma.GetEvent, ucma.EventLen, func(response uint64) []byte {
		return ucma.AppendGetEvent(nil, response)
	})
	defer unpin()
	raw, err := f.SyscallConn()
	if err != nil {
		return ucma.Event{}, err
	}
	var e error
	err = raw.Read(func(fd uintptr) bool {
		for {
			if _, e = unix.Write(int(fd), b); e != unix.EINTR {
				return e != unix.EAGAIN
			}
		}
	})
	if err == nil {
		err = e
	}
	if err != nil {
		return ucma.Event{}, err
	}
	return ucma.ParseEvent(answer)
}

// adopt takes ownership of a descriptor that the device has made in this process.
func adopt(fd uint32, name string) (*os.File, error) {
	if err := unix.SetNonblock(int(int32(fd)), true); err != nil {
		return nil, err // it is not a descriptor
	}
	unix.CloseOnExec(int(fd))
	return os.NewFile(uintptr(fd), name), nil
}

// pages returns at least n bytes of memory, in whole pages outside Go's heap.
func pages(n int) ([]byte, error) {
	size := (n + os.Getpagesize() - 1) &^ (os.Getpagesize() - 1)
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// mapQueue maps a queue of the device.
func mapQueue(f *os.File, m uverbs.Mapping) (b []byte, err error) {
	err = control(f, func(fd uintptr) (e error) {
		b, e = unix.Mmap(int(fd), int64(m.Offset), int(m.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return e
	})
	return b, err
}

// unmap unmaps memory of pages or mapQueue.
func unmap(b []byte) {
	if b != nil && unix.Munmap(b) != nil {
		panic("BUG: memory that was not mapped")
	}
}

// openNonblock opens a file for commands, such that waiting calls do not block a thread.
func openNonblock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
}
