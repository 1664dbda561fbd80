//go:build amd64 || arm64

package run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// sharedAt is the address of the memory in the programs of TestMemoryOutlivesProcess.
const sharedAt = 0x3000_0000_0000

// shareProgram maps descriptor 3 at sharedAt, like a child that has inherited the mapping. Its
// arguments are the offset, the protection and the flags.
func shareProgram(args []string) error {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	_, _, e := unix.Syscall6(unix.SYS_MMAP, sharedAt, uintptr(2*os.Getpagesize()), uintptr(n[1]), uintptr(n[2]|unix.MAP_FIXED_NOREPLACE), 3, uintptr(n[0]))
	if e != 0 {
		return e
	}
	tell("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// TestMemoryOutlivesProcess: when the process that registered memory has ended, the device accesses
// shared memory through another process that has the device open and the same memory at the same
// address.
func TestMemoryOutlivesProcess(t *testing.T) {
	page := os.Getpagesize()
	object := func() (*os.File, []byte) {
		fd, err := unix.MemfdCreate("object", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "object")
		t.Cleanup(func() { f.Close() })
		if err := f.Truncate(int64(4 * page)); err != nil {
			t.Fatal(err)
		}
		b, err := unix.Mmap(fd, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(b) })
		return f, b
	}
	start := func(object, device *os.File, at, prot, flags int) (pid int, end func()) {
		args := performance(t, "share", strconv.Itoa(at), strconv.Itoa(prot), strconv.Itoa(flags))
		c := exec.Command(args[0], args[1:]...)
		c.ExtraFiles, c.Stderr = []*os.File{object}, os.Stderr
		if device != nil {
			c.ExtraFiles = append(c.ExtraFiles, device)
		}
		in, err1 := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return c.Process.Pid, func() {
			in.Close()
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
	const both = unix.PROT_READ | unix.PROT_WRITE
	ours, mine := object()
	other, _ := object()
	pid, end := start(ours, nil, page, both, unix.MAP_SHARED)
	p, err := process.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFile(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	device, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.fd), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	r := &registrant{Process: p, file: f}
	at := uint64(sharedAt + page - 4) // across a page
	if err := r.Check(sharedAt, uint64(2*page), true); err != nil {
		t.Fatal(err)
	}
	check := func(desc string, mayRead, mayWrite bool) {
		t.Helper()
		b := make([]byte, 8)
		copy(mine[2*page-4:], desc[:8])
		if err := r.Read(b, at); (err == nil) != mayRead || mayRead && string(b) != desc[:8] {
			t.Errorf("%s: Read = %v, %q", desc, err, b)
		}
		err := r.Write([]byte("a Write!"), at)
		if written := string(mine[2*page-4:2*page+4]) == "a Write!"; (err == nil) != mayWrite || written != mayWrite {
			t.Errorf("%s: Write = %v, written %v", desc, err, written)
		}
	}
	check("the process itself", true, true)
	end()
	prototest.Wait(t, "the process has ended", p.HasEnded)
	check("without any process", false, false)
	for _, tt := range []struct {
		desc              string
		object, device    *os.File
		at, prot, flags   int
		mayRead, mayWrite bool
	}{
		{"a process without the device", ours, nil, page, both, unix.MAP_SHARED, false, false},
		{"memory of its own", ours, device, page, both, unix.MAP_PRIVATE, false, false},
		{"another object", other, device, page, both, unix.MAP_SHARED, false, false},
		{"another part of the object", ours, device, 2 * page, both, unix.MAP_SHARED, false, false},
		{"memory to read only", ours, device, page, unix.PROT_READ, unix.MAP_SHARED, true, false},
		{"the same memory", ours, device, page, both, unix.MAP_SHARED, true, true},
	} {
		_, end := start(tt.object, tt.device, tt.at, tt.prot, tt.flags)
		check(tt.desc, tt.mayRead, tt.mayWrite)
		end()
	}
}
