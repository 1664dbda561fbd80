package guest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A File is the open device, a Kernel that makes system calls.
type File struct{ FD int }

// OpenDevice opens the device and gets a context.
func OpenDevice() (*Context, error) {
	f, err := OpenFile()
	if err != nil {
		return nil, err
	}
	return Open(f)
}

// OpenFile opens the device as libibverbs does. It must be a character device with the numbers in
// /sys.
func OpenFile() (*File, error) {
	const class = "/sys/class/infiniband_verbs/uverbs0/"
	name, err := os.ReadFile(class + "ibdev")
	if err != nil {
		return nil, err
	}
	numbers, err := os.ReadFile(class + "dev")
	if err != nil {
		return nil, err
	}
	if len(name) < 3 || string(name[:3]) != "rxe" {
		return nil, fmt.Errorf("the device is %q", name)
	}
	fd, err := unix.Open("/dev/infiniband/uverbs0", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	want := fmt.Sprintf("%d:%d\n", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || string(numbers) != want {
		return nil, fmt.Errorf("mode %o, numbers %q; /sys says %q", st.Mode, want, numbers)
	}
	f := &File{fd}
	if err := f.invoke(1, nil, nil, nil, nil); !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("the probe of libibverbs got %v", err)
	}
	return f, nil
}

// Do sends a command with INVOKE_WRITE.
func (f *File) Do(cmd uint32, in, driverIn []byte, outLen, driverOutLen int) (out, driverOut []byte, err error) {
	out, driverOut = make([]byte, outLen), make([]byte, driverOutLen)
	return out, driverOut, f.invoke(cmd, in, driverIn, out, driverOut)
}

func (f *File) invoke(cmd uint32, in, driverIn, out, driverOut []byte) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	b := make([]byte, 24)
	attrs := uint16(0)
	attr := func(id uint16, p []byte, input bool) {
		if p == nil {
			return
		}
		attrs++
		b = le.AppendUint16(b, id)
		b = le.AppendUint16(b, uint16(len(p)))
		b = le.AppendUint32(b, 1)
		if input && len(p) <= 8 {
			b = append(b, append(p[:len(p):len(p)], make([]byte, 8-len(p))...)...)
			return
		}
		if len(p) == 0 {
			p = make([]byte, 1)
		}
		pin.Pin(&p[0])
		b = le.AppendUint64(b, Address(p))
	}
	attr(2, le.AppendUint32(nil, cmd), true)
	attr(0, in, true)
	attr(0x1000, driverIn, true)
	if len(out) > 0 {
		attr(1, out, false)
	}
	if len(driverOut) > 0 {
		attr(0x1001, driverOut, false)
	}
	le.PutUint16(b, uint16(len(b)))
	le.PutUint16(b[6:], attrs)
	pin.Pin(&b[0])
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(f.FD), 0xc0181b01, uintptr(unsafe.Pointer(&b[0]))); e != 0 {
		return e
	}
	return nil
}

// Map maps a part of the device's file.
func (f *File) Map(offset uint64, size int) ([]byte, error) {
	return unix.Mmap(f.FD, int64(offset), size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// Doorbell writes as many bytes as the rxe provider, but does not name the queue pair.
func (f *File) Doorbell(uint32) error {
	b := make([]byte, 32)
	b[0] = 28
	n, err := unix.Write(f.FD, b)
	if err == nil && n != len(b) {
		err = fmt.Errorf("the doorbell took %d bytes", n)
	}
	return err
}

// Close closes the device. The channel for asynchronous events is another descriptor.
func (f *File) Close() error { return unix.Close(f.FD) }
