//go:build amd64

package where

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Stage()
	os.Exit(m.Run())
}

// build compiles testdata/deep.c, and testdata/verbs.c as libibverbs, which is a part of the
// program if the flags say -static. It returns the path of the program.
func build(t *testing.T, flags, verbsFlags string) string {
	t.Helper()
	dir := t.TempDir()
	gcc := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	program, verbs := filepath.Join(dir, "program"), "testdata/verbs.c"
	all := append(strings.Fields(flags), "-o", program, "testdata/deep.c")
	if !strings.Contains(flags, "-static") {
		verbs = filepath.Join(dir, "libibverbs.so.1")
		gcc(append(strings.Fields(verbsFlags), "-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", "-o", verbs, "testdata/verbs.c")...)
		all = append(all, "-Wl,-rpath,"+dir)
	}
	gcc(append(all, verbs)...)
	return program
}

// siteOf starts a program, which waits in a system call, and returns its site.
func siteOf(t *testing.T, program string, args ...string) *Site {
	t.Helper()
	c := exec.Command(program, args...)
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
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	f := New()
	t.Cleanup(f.Close)
	for { // it is on its way from one call into the next
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", c.Process.Pid)); strings.HasPrefix(string(b), "0 ") {
			break
		}
	}
	return f.Site(c.Process.Pid)
}

// TestSites: the site of a program is the line that its comment marks, however it was compiled.
// What is not known is left out.
func TestSites(t *testing.T) {
	const place, symbol, address = `^innermost at /.*/testdata/deep\.c:(\d+), called by middle at /.*/testdata/deep\.c:(\d+)$`, `^innermost at program\+0x[0-9a-f]+, called by middle at program\+0x[0-9a-f]+$`, `^program\+0x[0-9a-f]+, called by program\+0x[0-9a-f]+$`
	source, err := os.ReadFile("testdata/deep.c")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for _, tt := range []struct{ desc, flags, verbs, want string }{
		{"position independent", "-g -O0", "-O2", place},
		{"at fixed addresses", "-g -O0 -no-pie", "-O2", place},
		{"optimized", "-g -O2", "-O2", place},
		{"optimized at fixed addresses", "-g -O2 -no-pie", "-O2", place},
		{"a library that is not optimized", "-g -O2", "-O0", place},
		{"a library with frame pointers", "-g -O2", "-O2 -fno-omit-frame-pointer", place},
		{"all with frame pointers", "-g -O2 -fno-omit-frame-pointer", "-O2 -fno-omit-frame-pointer", place},
		{"a library with frame pointers and landing places", "-g -O2", "-O2 -fno-omit-frame-pointer -fcf-protection", place},
		{"a stripped library", "-g -O2", "-O2 -s", place},
		{"static", "-g -O2 -static", "", place},
		{"static and not optimized", "-g -O0 -static", "", place},
		{"static and position independent", "-g -O2 -static-pie", "", place},
		{"DWARF 4", "-gdwarf-4 -O1", "-O2", place},
		{"compressed", "-g -gz", "-O2", place},
		{"link-time optimization", "-g -O2 -flto", "-O2", place},
		{"with symbols", "-O2", "-O2", symbol},
		{"stripped", "-O2 -s", "-O2", address},
		{"static with symbols", "-O2 -static", "", symbol},
		{"with AddressSanitizer", "-g -O2 -fsanitize=address", "-O2 -DDIRECT", place}, // its read ends in a jump to the function that reads
		{"static and stripped", "-O2 -s -static", "", `^$`},
		{"without frame tables", "-g -O2", "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables", `^$`},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			got := ""
			if s := siteOf(t, build(t, tt.flags, tt.verbs)); s != nil {
				got = s.String()
			}
			match := regexp.MustCompile(tt.want).FindStringSubmatch(got)
			if match == nil {
				t.Fatalf("the site is %q, want %s", got, tt.want)
			}
			for i, number := range match[1:] {
				if n, _ := strconv.Atoi(number); !strings.Contains(lines[n-1], []string{"// here", "// caller"}[i]) {
					t.Errorf("the line is %d: %s", n, lines[n-1])
				}
			}
		})
	}
}
