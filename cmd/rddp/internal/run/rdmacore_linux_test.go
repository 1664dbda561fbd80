//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// These tests run the system's programs of rdma-core and perftest. `make verbs` installs the
// packages; a missing program is a failure.

// programPairs are the programs that come in pairs: the last argument of the second is the address
// of the first. %d is the port at which the first waits.
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
	"ibv_uc_pingpong -g 0 -p %d -c",
	"ib_write_bw -p %d -n 200 -c UC",
	"ib_send_lat -p %d -n 100 -c UC",
	"env UCX_TLS=ud_v,self ucx_perftest -t tag_lat -s 64 -n 100 -p %d",
	"env UCX_TLS=rc_v,self ucx_perftest -t tag_lat -s 64 -n 100 -p %d",
	"env UCX_TLS=ud_v,self ucx_perftest -t tag_bw -s 65536 -n 100 -p %d",
	"env UCX_TLS=rc_v,self ucx_perftest -t tag_bw -s 65536 -n 100 -p %d",
	"env UCX_TLS=ud_v,self ucx_perftest -t ucp_get -s 4096 -n 100 -p %d",
	"env UCX_TLS=rc_v,self ucx_perftest -t ucp_get -s 4096 -n 100 -p %d",
}

func TestProgramPairs(t *testing.T) {
	for _, line := range testmode.Share(t, programPairs) {
		t.Run(line, func(t *testing.T) { runProgramPair(t, supervise, line, line+" 127.0.0.1") })
	}
}

// connectedPairs are the programs that use rdma_cm: one listens, and the other connects.
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

// fabricPairs use libfabric's verbs provider. fabricConnections are options for the same program,
// with which the provider needs an address other than loopback.
var (
	fabricPairs       = [][2]string{{"fi_pingpong -p verbs -e dgram -B %d", "fi_pingpong -p verbs -e dgram -P %d 127.0.0.1"}}
	fabricConnections = []string{"-p verbs -e msg", "-p verbs;ofi_rxm -e rdm", "-p verbs;ofi_rxd -e rdm"}
)

func TestFabric(t *testing.T) {
	for _, lines := range fabricPairs {
		runProgramPair(t, supervise, lines[0], lines[1])
	}
	here, _ := twoHosts(t)
	t.Setenv(addressOfTest, "10.99.0.1")
	for _, options := range fabricConnections {
		t.Run(options, func(t *testing.T) {
			line := "fi_pingpong -I 10 " + options
			here(func() { runProgramPair(t, supervise, line+" -B %d", line+" -P %d 10.99.0.1") })
		})
	}
}

// datagramPairs are the programs that use rdma_cm for datagrams.
var datagramPairs = [][2]string{
	{"udaddy -c 5 -C 20 -S 1000", "udaddy -c 5 -C 20 -S 1000 -s 127.0.0.1"},
	{"udaddy -P ipoib", "udaddy -P ipoib -s 127.0.0.1"},
	{"ib_send_bw -R -c UD -p %d -n 100", "ib_send_bw -R -c UD -p %d -n 100 127.0.0.1"},
}

// lonePrograms are programs that look at the device, with a part of what they print.
var lonePrograms = []struct{ line, want string }{
	{"rdma dev", "0: " + DeviceName + ": node_type ca"},
	{"rdma -d dev show " + DeviceName, "MEM_WINDOW"},
	{"rdma link", "link " + DeviceName + "/1 state ACTIVE physical_state LINK_UP"},
	{"rdma resource", "0: " + DeviceName + ": pd 0 cq 0 qp 0 cm_id 0 mr 0"},
	{"rdma system", "copy-on-fork on"},
	{"udevadm info -a -p /sys/class/infiniband/" + DeviceName, `ATTR{node_type}=="1: CA"`},
	{"udevadm info -n infiniband/uverbs0", "E: DEVPATH=/devices/virtual/infiniband_verbs/uverbs0"},
	{"udevadm info -n /dev/infiniband/rdma_cm", "E: SUBSYSTEM=misc"},
	{"udevadm info /sys/class/infiniband_verbs/uverbs0", "E: DEVNAME=/dev/infiniband/uverbs0"},
	{"ibv_devices", DeviceName},
	{"prlimit --nofile=64 ibv_devinfo", DeviceName},
	{"ucx_info -d", "Transport: rc_verbs\n#         Device: " + DeviceName + ":1"},
}

func TestLonePrograms(t *testing.T) {
	for _, tt := range lonePrograms {
		if got, err := under(strings.Fields(tt.line)...).Output(); err != nil || !bytes.Contains(got, []byte(tt.want)) {
			t.Errorf("%s: %v, %s", tt.line, err, got)
		}
	}
}

// TestShownObjects: iproute2 shows the queue pairs, the ids, and the rest of rping.
func TestShownObjects(t *testing.T) {
	const script = `rping -s -a 127.0.0.1 -p $1 >/dev/null & a=$!
until rdma resource show cm_id | grep -q LISTEN; do sleep 0.01; done
rping -c -a 127.0.0.1 -p $1 >/dev/null & b=$!
until rdma resource show qp | grep RTS; do sleep 0.01; done
for kind in cm_id cq mr pd ctx; do rdma resource show $kind; done
kill $a $b; wait`
	got, err := under("sh", "-c", script, "sh", strconv.Itoa(freePort(t))).Output()
	for _, want := range []string{
		" type RC state RTS rq-psn ", " comm rping ", "lqpn ", "state CONNECT ps TCP ", " dst-addr 127.0.0.1:", "cqn ", "mrn ", "pdn ", "ctxn ",
	} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("%v, %q is missing in\n%s", err, want, got)
		}
	}
}

// TestMulticastProgram: a program that joins a multicast group ends with the error of a device
// without multicast.
func TestMulticastProgram(t *testing.T) {
	c := under("mckey", "-b", "127.0.0.1", "-m", "224.1.2.3")
	c.Stderr = nil
	got, err := c.CombinedOutput()
	if want := "mckey: failure joining: Function not implemented"; err == nil || !bytes.Contains(got, []byte(want)) {
		t.Errorf("%v, %s", err, got)
	}
}

func TestDatagramPairs(t *testing.T) {
	for _, lines := range datagramPairs {
		t.Run(lines[1], func(t *testing.T) { runProgramPair(t, supervise, lines[0], lines[1]) })
	}
}

func TestConnectedPairs(t *testing.T) {
	for _, face := range []string{supervise, superviseIWARP} {
		for _, lines := range testmode.Share(t, connectedPairs) {
			t.Run(face+" "+lines[1], func(t *testing.T) { runProgramPair(t, face, lines[0], lines[1]) })
		}
	}
}

// runProgramPair runs two programs under supervisors of a face. The second starts when the first
// listens. %d in their command lines is the port; without it they use the port of librdmacm's
// examples. What they print is returned.
func runProgramPair(t *testing.T, face, line1, line2 string) (printed [2]string) {
	port := freePort(t)
	if !strings.Contains(line1, "%d") {
		port = 7174
	}
	command := func(line string) *exec.Cmd {
		args := strings.Fields(strings.ReplaceAll(line, "%d", strconv.Itoa(port)))
		if strings.HasPrefix(line, "ib_") {
			args = slices.Insert(args, 1, "-F") // or perftest fails if it cannot measure the processor's frequency: the machine is busy
		}
		c := under(args...)
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
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer abortLate(t, pairTime, first, second)()
	if err := errors.Join(second.Wait(), <-ended); err != nil {
		t.Errorf("%v\n%s\n%s", err, &texts[0], &texts[1])
	}
	return [2]string{texts[0].String(), texts[1].String()}
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

// awaitListener waits until a program listens at a port, or waits for datagrams, without sending
// anything.
func awaitListener(port int, ended <-chan error) error {
	return awaitPorts(ended, uint16(port), cm.Places(uint16(port))[0])
}

// awaitPorts waits until one of the ports of TCP or UDP is open, in the caller's network namespace.
func awaitPorts(ended <-chan error, ports ...uint16) error {
	var open []*regexp.Regexp
	for _, p := range ports {
		open = append(open, regexp.MustCompile(fmt.Sprintf(`:%04X [0-9A-F]+:0000 0[A7] `, p))) // the states of TCP and UDP
	}
	for {
		for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + file)
			if err == nil && slices.ContainsFunc(open, func(r *regexp.Regexp) bool { return r.Match(b) }) {
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
