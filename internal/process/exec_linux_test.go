//go:build amd64 || arm64

package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is also a program that executes another program, which has memory at the same
// address.
const first, second = "first", "second"

const at = 0x2000_0000_0000

func TestMain(m *testing.M) {
	if os.Args[0] != first && os.Args[0] != second {
		os.Exit(m.Run())
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED_NOREPLACE
	_, _, e := unix.Syscall6(unix.SYS_MMAP, at, 4096, unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0), 0)
	memory, err := os.Open("/proc/self/mem")
	if e != 0 || err != nil {
		fmt.Println(e, err)
		os.Exit(1)
	}
	b := make([]byte, 1)
	in := bufio.NewReader(os.Stdin)
	for {
		_, err := memory.ReadAt(b, at)
		fmt.Println(os.Args[0], b[0], err)
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		if line == "exec\n" {
			fmt.Println(syscall.Exec("/proc/self/exe", []string{second}, os.Environ()))
		}
	}
}

// TestLeave checks that nothing is written to the memory of a process after execve, although the
// new program has memory at the same address, and that the memory is accessible until then.
func TestLeave(t *testing.T) {
	c := exec.Command("/proc/self/exe")
	c.Args[0] = first
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer in.Close()
	lines := bufio.NewReader(out)
	want := func(program string, value byte) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if w := fmt.Sprintln(program, value, nil); line != w || err != nil {
			t.Fatalf("the program says %q, %v, want %q", line, err, w)
		}
	}
	want(first, 0)
	p, err := Open(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for k, step := range []func(){func() {}, p.Leave, p.Stay} {
		step()
		value := byte(k + 1)
		got := make([]byte, 1)
		if err := p.Write([]byte{value}, at); err != nil {
			t.Fatal(err)
		}
		if err := p.Read(got, at); err != nil || got[0] != value {
			t.Fatalf("Read: %v, %v", got, err)
		}
		fmt.Fprintln(in, "say")
		want(first, value)
	}
	p.Leave()
	fmt.Fprintln(in, "exec")
	want(second, 0)
	for range 2 {
		if err := p.Write([]byte{9}, at); err == nil {
			t.Error("a Write to a process that has become another program succeeds")
		}
		if err := p.Read(make([]byte, 1), at); err == nil {
			t.Error("a Read of a process that has become another program succeeds")
		}
		p.Stay()
	}
	fmt.Fprintln(in, "say")
	want(second, 0)
}
