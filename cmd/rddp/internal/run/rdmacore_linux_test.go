//go:build verbs && (amd64 || arm64)

package run

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests run the programs of rdma-core and perftest, as the system has them. `make verbs`
// installs the packages; a program that is missing is a failure.

// programPairs are the programs that come in pairs: the second one has the first one's address as
// its last argument. %d is the port at which the first one waits.
var programPairs = []string{
	"ibv_rc_pingpong -g 0 -p %d",
	"ibv_rc_pingpong -g 0 -p %d -c",
	"ibv_rc_pingpong -g 0 -p %d -e",
	"ibv_rc_pingpong -g 0 -p %d -e -c",
	"ibv_srq_pingpong -g 0 -p %d",
	"ibv_ud_pingpong -g 0 -p %d -n 100",
	"ib_write_bw -p %d -n 200",
	"ib_write_bw -p %d -n 200 -q 4",
	"ib_write_bw -p %d -n 200 -b",
	"ib_write_bw -p %d -n 10 -s 8388608",
	"ib_write_lat -p %d -n 100",
	"ib_read_bw -p %d -n 200",
	"ib_read_bw -p %d -n 10 -s 8388608",
	"ib_read_lat -p %d -n 100",
	"ib_send_bw -p %d -n 200",
	"ib_send_bw -p %d -n 200 -e",
	"ib_send_bw -p %d -n 200 -r 64 -q 2",
	"ib_send_bw -p %d -n 10 -s 8388608",
	"ib_send_bw -p %d -n 100 -c UD",
	"ib_send_lat -p %d -n 100",
	"ib_send_lat -p %d -n 100 -e",
	"ib_atomic_bw -p %d -n 200",
	"ib_atomic_lat -p %d -n 100",
	"env UCX_TLS=ud_v,self ucx_perftest -t tag_lat -s 64 -n 100 -p %d",
	"env UCX_TLS=rc_v,self ucx_perftest -t tag_lat -s 64 -n 100 -p %d",
}

func TestProgramPairs(t *testing.T) {
	for _, line := range programPairs {
		t.Run(line, func(t *testing.T) { runProgramPair(t, supervise, line, line+" 127.0.0.1") })
	}
}

// connectedPairs are the programs with rdma_cm: the one that listens, and the one that connects.
var connectedPairs = [][2]string{
	{"rping -s -V -C 10 -p %d", "rping -c -a 127.0.0.1 -V -C 10 -p %d"},
	{"rping -s -v -S 4000 -C 5 -p %d", "rping -c -a 127.0.0.1 -v -S 4000 -C 5 -p %d"},
	{"ucmatose -p %d", "ucmatose -s 127.0.0.1 -p %d"},
	{"ucmatose -c 5 -C 20 -S 1000 -p %d", "ucmatose -s 127.0.0.1 -c 5 -C 20 -S 1000 -p %d"},
	{"rdma_server -p %d", "rdma_client -s 127.0.0.1 -p %d"},
	{"rstream -p %d -S 4096 -C 50", "rstream -s 127.0.0.1 -p %d -S 4096 -C 50"},
	{"riostream -p %d -S 4096 -C 50", "riostream -s 127.0.0.1 -p %d -S 4096 -C 50"},
	{"ib_write_bw -R -p %d -n 200", "ib_write_bw -R -p %d -n 200 127.0.0.1"},
	{"ib_write_lat -R -p %d -n 100", "ib_write_lat -R -p %d -n 100 127.0.0.1"},
	{"ib_read_bw -R -p %d -n 200", "ib_read_bw -R -p %d -n 200 127.0.0.1"},
	{"ib_read_lat -R -p %d -n 100", "ib_read_lat -R -p %d -n 100 127.0.0.1"},
	{"ib_send_bw -R -p %d -n 200", "ib_send_bw -R -p %d -n 200 127.0.0.1"},
	{"ib_send_bw -R -p %d -n 10 -s 8388608", "ib_send_bw -R -p %d -n 10 -s 8388608 127.0.0.1"},
	{"ib_send_lat -R -p %d -n 100", "ib_send_lat -R -p %d -n 100 127.0.0.1"},
}

// datagramPairs are the programs with rdma_cm for datagrams.
var datagramPairs = [][2]string{
	{"udaddy -c 5 -C 20 -S 1000", "udaddy -c 5 -C 20 -S 1000 -s 127.0.0.1"},
	{"udaddy -P ipoib", "udaddy -P ipoib -s 127.0.0.1"},
	{"ib_send_bw -R -c UD -p %d -n 100", "ib_send_bw -R -c UD -p %d -n 100 127.0.0.1"},
}

func TestDatagramPairs(t *testing.T) {
	for _, lines := range datagramPairs {
		t.Run(lines[1], func(t *testing.T) { runProgramPair(t, supervise, lines[0], lines[1]) })
	}
}

func TestConnectedPairs(t *testing.T) {
	for _, face := range []string{supervise, superviseIWARP} {
		for _, lines := range connectedPairs {
			t.Run(face+" "+lines[1], func(t *testing.T) { runProgramPair(t, face, lines[0], lines[1]) })
		}
	}
}

// runProgramPair runs two programs under supervisors of a face, the second one when the first one
// listens. %d in their lines is the port; without it they have the port of librdmacm's examples.
func runProgramPair(t *testing.T, face, line1, line2 string) {
	port := freePort(t)
	if !strings.Contains(line1, "%d") {
		port = 7174
	}
	command := func(line string) *exec.Cmd {
		c := under(strings.Fields(strings.ReplaceAll(line, "%d", strconv.Itoa(port)))...)
		c.Args[0] = face
		return c
	}
	var texts [2]bytes.Buffer
	first, second := command(line1), command(line2)
	for i, c := range []*exec.Cmd{first, second} {
		c.Stdout, c.Stderr = &texts[i], &texts[i]
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	if err := awaitListener(port, ended); err != nil {
		t.Fatalf("%v\n%s", err, &texts[0])
	}
	if err := errors.Join(second.Run(), <-ended); err != nil {
		t.Errorf("%v\n%s\n%s", err, &texts[0], &texts[1])
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// awaitListener waits until a program listens at a port, or waits for datagrams, without sending anything.
func awaitListener(port int, ended <-chan error) error {
	listening := regexp.MustCompile(fmt.Sprintf(`:%04X [0-9A-F]+:0000 0[A7] `, port)) // the states of TCP and UDP
	for {
		for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"} {
			b, err := os.ReadFile(file)
			if err == nil && listening.Match(b) {
				return nil
			}
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it has ended before it listened: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestDevinfo(t *testing.T) {
	c := under("ibv_devinfo", "-v")
	out, err := c.Output()
	if err != nil || !bytes.Contains(out, []byte(DeviceName)) || !bytes.Contains(out, []byte("PORT_ACTIVE")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// suites are the files of rdma-core's own tests, with how many tests pass at least, and how many
// fail for a reason that docs/run.md states.
var suites = []struct {
	file         string
	passed, fail int
}{
	{"test_addr", 3, 0}, {"test_atomic", 7, 0}, {"test_cq", 4, 0}, {"test_cq_events", 2, 0}, {"test_cqex", 4, 0}, {"test_device", 12, 0},
	{"test_fork", 1, 0}, {"test_mr", 8, 0}, {"test_odp", 8, 0}, {"test_pd", 4, 0}, {"test_qp", 12, 0}, {"test_qpex", 17, 1}, {"test_rdmacm", 7, 0}, {"test_relaxed_ordering", 2, 0},
}

// driver runs the tests of one file.
const driver = `
import sys, unittest
from args_parser import parser
module = sys.argv[1]
sys.argv = ["x", "--dev", "` + DeviceName + `"]
parser.parse_args()
unittest.main(module=None, verbosity=2, argv=["x", "tests." + module])
`

func TestPyverbs(t *testing.T) {
	folder := unpackSuites(t)
	for _, s := range suites {
		t.Run(s.file, func(t *testing.T) {
			c := under("/usr/bin/python3", filepath.Join(folder, "driver.py"), s.file)
			c.Dir = folder
			c.Env = append(os.Environ(), "PYTHONPATH="+strings.Join([]string{folder, filepath.Join(folder, "tests"), os.Getenv("PYTHONPATH")}, ":"))
			var text bytes.Buffer
			c.Stdout, c.Stderr = &text, &text
			_ = c.Run() // it fails if a test fails
			passed, skipped, failed, err := summary(text.String())
			t.Logf("%d passed, %d skipped, %d failed", passed, skipped, failed)
			if err != nil || passed < s.passed || failed > s.fail {
				t.Errorf("%v; want %d passed and %d failed\n%s", err, s.passed, s.fail, &text)
			}
		})
	}
}

// unpackSuites copies the tests to a folder where python finds them, and returns it.
func unpackSuites(t *testing.T) string {
	t.Helper()
	from := "/usr/share/doc/rdma-core/tests"
	if other := os.Getenv("VERBS_TESTS"); other != "" {
		from = other
	}
	folder := t.TempDir()
	files, err := filepath.Glob(filepath.Join(from, "*.py*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", from, err)
	}
	if err := os.Mkdir(filepath.Join(folder, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err == nil && strings.HasSuffix(name, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(z)
			}
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "tests", strings.TrimSuffix(filepath.Base(name), ".gz")), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "driver.py"), []byte(driver), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// summary reads the last lines of unittest: "Ran 9 tests in …" and "FAILED (failures=1, skipped=2)".
func summary(text string) (passed, skipped, failed int, err error) {
	err = errors.New("no summary")
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if n, ok := strings.CutPrefix(s.Text(), "Ran "); ok {
			n, _, _ = strings.Cut(n, " ")
			passed, err = strconv.Atoi(n)
		}
		for _, m := range regexp.MustCompile(`(failures|errors|skipped)=(\d+)`).FindAllStringSubmatch(s.Text(), -1) {
			n, _ := strconv.Atoi(m[2])
			if passed -= n; m[1] == "skipped" {
				skipped = n
			} else {
				failed += n
			}
		}
	}
	return passed, skipped, failed, err
}
