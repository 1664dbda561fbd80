//go:build verbs && (amd64 || arm64)

package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
)

// These tests run programs that use verbs for their own purposes: two MPIs, a benchmark of disks, a
// benchmark of networks, a disk on the network, and a virtual machine. docs/run-programs.md tells
// users what they need.

// mpis are the ways to run testdata/mpi.c, with the compiler of each. MPICH and Open MPI reach the
// device through UCX or libfabric.
var mpis = []struct{ compiler, line string }{
	{"mpicc.mpich", "mpiexec.mpich -np 2"},
	{"mpicc.mpich", "env UCX_TLS=rc_v,self mpiexec.mpich -np 2"},
	{"mpicc.mpich", "env UCX_TLS=ud_v,self mpiexec.mpich -np 2"},
	{"mpicc.openmpi", "env UCX_TLS=rc_v,self mpirun.openmpi --mca pml ucx --mca osc ucx -np 2"},
	{"mpicc.openmpi", "env UCX_TLS=ud_v,self mpirun.openmpi --mca pml ucx --mca osc ucx -np 2"},
	{"mpicc.openmpi", "env UCX_TLS=rc_v,self mpirun.openmpi --oversubscribe --mca pml ucx --mca osc ucx -np 3"},
}

// TestMPI: both MPIs deliver the bytes of messages, collectives and one-sided operations, from rank
// to rank and from a rank to itself.
func TestMPI(t *testing.T) {
	dir := t.TempDir()
	for _, m := range mpis {
		t.Run(m.line, func(t *testing.T) {
			c := under(append(strings.Fields(m.line), compiled(t, m.compiler, dir))...)
			c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			if out := printed(t, c); !strings.Contains(out, "GOOD\n") {
				t.Error(out)
			}
		})
	}
}

// TestMPIBetweenHosts: so do ranks on two hosts, each under a supervisor of its own.
func TestMPIBetweenHosts(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, there := twoHosts(t)
	var far string
	there(func() {
		holder := exec.Command("cat") // stays on that host until its standard input ends
		stdin, err := holder.StdinPipe()
		if err == nil {
			err = holder.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() {
			stdin.Close()
			_ = holder.Wait() // a failure does not matter
		})
		far = strconv.Itoa(holder.Process.Pid)
	})
	launch, rank := filepath.Join(dir, "launch"), filepath.Join(dir, "rank")
	for name, script := range map[string]string{
		launch: "#!/bin/sh\nwhile [ \"$1\" != 10.99.0.2 ]; do shift || exit 1; done\nshift\nexec nsenter -t " + far + " -n sh -c \"$*\"\n",
		rank: "#!/bin/bash\nexport " + addressOfTest + "=10.99.0.$((PMI_RANK + 1))\nexec -a " + supervise + " " + self + " " +
			compiled(t, "mpicc.mpich", dir) + "\n",
	} {
		if err := os.WriteFile(name, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, transport := range []string{"rc_v,self", "ud_v,self"} {
		t.Run(transport, func(t *testing.T) {
			here(func() {
				c := exec.Command("mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", launch, "-hosts", "10.99.0.1,10.99.0.2", "-np", "2", rank)
				c.Env = append(os.Environ(), "UCX_TLS="+transport)
				if out := printed(t, c); !strings.Contains(out, "GOOD\n") {
					t.Error(out)
				}
			})
		})
	}
}

// compiled returns the program of testdata/mpi.c, which compiler has put into dir.
func compiled(t *testing.T, compiler, dir string) string {
	t.Helper()
	program := filepath.Join(dir, compiler)
	if _, err := os.Stat(program); err != nil {
		if out, err := exec.Command(compiler, "-O1", "-Wall", "-o", program, "testdata/mpi.c").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return program
}

// printed returns what a command prints. The command must end within pairTime, and well.
func printed(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer abortLate(t, pairTime, c)()
	if err := c.Wait(); err != nil {
		t.Errorf("%q: %v\n%s", c.Args[1:], err, &out)
	}
	return out.String()
}

// TestQperf: qperf measures, and verifies its atomics. It polls here, because an alarm ends each of
// its tests, and an alarm in a verb that waits for an event makes qperf wait for ever.
func TestQperf(t *testing.T) {
	const script = `qperf --listen_port $1 & a=$!
qperf --listen_port $1 --wait_server 20 -cm1 -cp1 -t 1 127.0.0.1 rc_lat rc_rdma_read_lat rc_rdma_write_bw ver_rc_compare_swap ver_rc_fetch_add; b=$?
kill $a; wait; exit $b`
	out := printed(t, under("sh", "-c", script, "sh", strconv.Itoa(freePort(t))))
	if got := strings.Count(out, "latency") + strings.Count(out, "bw  ") + strings.Count(out, "msg_rate"); got != 5 {
		t.Errorf("%d results, want 5:\n%s", got, out)
	}
}

// TestFio: fio's rdma engine writes, reads and sends all bytes.
func TestFio(t *testing.T) {
	const script = `fio --name=a --ioengine=rdma --port=$1 --rw=read --bs=64k --size=4m --iodepth=16 & a=$!
until grep -qi ":$(printf %04X $3) 00000000:0000 0A" /proc/self/net/tcp; do sleep 0.01; done
fio --name=b --ioengine=rdma --hostname=127.0.0.1 --port=$1 --verb=$2 --rw=write --bs=64k --size=4m --iodepth=16; b=$?
wait $a || exit 1; exit $b`
	for _, verb := range []string{"write", "read", "send"} {
		t.Run(verb, func(t *testing.T) {
			port := freePort(t)
			out := printed(t, under("bash", "-c", script, "bash", strconv.Itoa(port), verb, strconv.Itoa(int(cm.Places(uint16(port))[0]))))
			if !strings.Contains(out, "io=4096KiB") || strings.Count(out, "err= 0") != 2 {
				t.Error(out)
			}
		})
	}
}

// TestISER: tgt serves a disk by iSER, and libiscsi's own tests read and write it. Those of VERIFY
// have the target compare what they have read with the disk. The rest of that suite is left out,
// because libiscsi crashes in some tests over iSER, and others ask for what tgt does not have.
func TestISER(t *testing.T) {
	const script = `tgtd -f --iscsi portal=127.0.0.1:$2 >$1.log 2>&1 & t=$!
until tgtadm --lld iser --mode target --op new --tid 1 -T iqn.2026-11.test:disk 2>/dev/null; do
	kill -0 $t || { cat $1.log; exit 1; }
	sleep 0.05
done
tgtadm --lld iser --mode logicalunit --op new --tid 1 --lun 1 -b $1 &&
tgtadm --lld iser --mode target --op bind --tid 1 -I ALL &&
tgtadm --lld iser --mode target --op bind --tid 1 -Q iqn.2026-11.test:initiator &&
for s in Read16 Write16 Verify16 WriteVerify16 OrWrite; do
	iscsi-test-cu -i iqn.2026-11.test:initiator --dataloss -t ALL.$s iser://127.0.0.1:3260/iqn.2026-11.test:disk/1 || exit 1
done; s=$?
kill -9 $t
exit $s`
	dir := t.TempDir()
	disk, content := filepath.Join(dir, "disk"), make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	if err := os.WriteFile(disk, content, 0o600); err != nil {
		t.Fatal(err)
	}
	c := under("bash", "-c", script, "bash", disk, strconv.Itoa(freePort(t)))
	c.Env = append(os.Environ(), "TGT_IPC_SOCKET="+filepath.Join(dir, "ipc"))
	out := printed(t, c)
	if n := strings.Count(out, "...passed"); n != 30 {
		t.Errorf("%d tests passed, want 30:\n%s", n, out)
	}
}

// A machine is a QEMU under a supervisor. It takes commands from its standard input.
type machine struct {
	t   *testing.T
	log bytes.Buffer
	in  io.Writer
	out *bufio.Reader
}

// newMachine starts a virtual machine without devices.
func newMachine(t *testing.T, args ...string) *machine {
	t.Helper()
	m := &machine{t: t}
	c := under(append([]string{"qemu-system-x86_64", "-machine", "pc,accel=tcg", "-m", "64", "-display", "none", "-nodefaults", "-qmp", "stdio"}, args...)...)
	c.Stderr = &m.log
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.in, m.out = in, bufio.NewReader(out)
	over := abortLate(t, pairTime, c) // ends m.out
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = c.Wait()                          // by the signal
		over()
	})
	m.await("QMP", "")
	m.do("qmp_capabilities", "{}")
	return m
}

// do executes a command of QEMU's.
func (m *machine) do(command, arguments string) {
	m.t.Helper()
	if _, err := fmt.Fprintf(m.in, `{"execute":%q,"arguments":%s}`+"\n", command, arguments); err != nil {
		m.t.Fatalf("%s: %v\n%s", command, err, &m.log)
	}
	m.await("return", "")
}

// await waits until QEMU prints an object that has a key and a text.
func (m *machine) await(key, text string) {
	m.t.Helper()
	for {
		line, err := m.out.ReadBytes('\n')
		if err == nil && line[0] != '{' { // QEMU's code for RDMA prints there, too
			continue
		}
		var object map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(line, &object)
		}
		if err != nil || object["error"] != nil || bytes.Contains(line, []byte(`"failed"`)) {
			m.t.Fatalf("%s %s: %v %s\n%s", key, text, err, line, &m.log)
		}
		if object[key] != nil && bytes.Contains(line, []byte(text)) {
			return
		}
	}
}

// TestMigration: QEMU moves a virtual machine to another QEMU by RDMA, with its memory.
func TestMigration(t *testing.T) {
	const at, length = 16 << 20, 24 << 20
	dir := t.TempDir()
	want := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{}).Read(want)
	pattern := filepath.Join(dir, "pattern")
	if err := os.WriteFile(pattern, want, 0o600); err != nil {
		t.Fatal(err)
	}
	uri := fmt.Sprintf(`{"uri":"rdma:127.0.0.1:%d"}`, freePort(t))
	to := newMachine(t, "-incoming", "defer")
	from := newMachine(t, "-device", fmt.Sprintf("loader,file=%s,addr=%#x,force-raw=on", pattern, at))
	from.do("migrate-set-capabilities", `{"capabilities":[{"capability":"events","state":true}]}`)
	to.do("migrate-incoming", uri)
	from.do("migrate", uri)
	from.await("event", `"status": "completed"`)
	to.await("event", `"RESUME"`)
	copied := filepath.Join(dir, "copied")
	to.do("pmemsave", fmt.Sprintf(`{"val":%d,"size":%d,"filename":%q}`, at, length, copied))
	if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the memory has changed on its way: %v", err)
	}
}
