//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// fetchLen is the length in bytes of the file that the programs fetch.
const fetchLen = 3<<20 + 7

const asyncio = `import asyncio, hashlib
async def one():
    r, w = await asyncio.open_connection('HOST', PORT)
    w.write(b'GET /file HTTP/1.0\r\n\r\n')
    d = (await r.read()).split(b'\r\n\r\n', 1)[1]
    w.close()
    return hashlib.sha256(d).hexdigest()
async def all():
    print(await asyncio.gather(*[one() for _ in range(20)]))
asyncio.run(all())`

// fetches are programs that fetch a file from HOST and PORT and print it, or a digest of it, with
// their exit status and the number of connections that they make.
var fetches = []struct {
	desc          string
	args          []string
	status, conns int
}{
	{"curl", []string{"curl", "-sS", "http://HOST:PORT/file"}, 0, 1},
	{"curl, two at a time", []string{"curl", "-sS", "--parallel", "--parallel-immediate", "--http1.1", "http://HOST:PORT/file", "http://HOST:PORT/none", "-o", "/dev/null", "-o", "/dev/null"}, 0, 2},
	{"curl, no such file", []string{"curl", "-sSf", "http://HOST:PORT/none"}, 22, 1},
	{"wget", []string{"wget", "-q", "-O", "-", "http://HOST:PORT/file"}, 0, 1},
	{"nc", []string{"sh", "-c", `printf 'GET /file HTTP/1.0\r\n\r\n' | nc -N HOST PORT | sed '1,/^\r$/d'`}, 0, 1},
	{"urllib", []string{"python3", "-c", "import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen('http://HOST:PORT/file').read())"}, 0, 1},
	{"asyncio, 20 at a time", []string{"python3", "-c", asyncio}, 0, 20},
}

// TestTCPPrograms fetches a file with the system's programs, over DDP and without.
func TestTCPPrograms(t *testing.T) {
	file := make([]byte, fetchLen)
	_, _ = rand.NewChaCha8([32]byte{}).Read(file)
	mux := http.NewServeMux()
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(file) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	plain := strings.TrimPrefix(server.URL, "http://")
	exit := serveExit(t, "127.0.0.1:0", plain)
	for _, f := range fetches {
		t.Run(f.desc, func(t *testing.T) {
			var log bytes.Buffer
			direct := exec.Command(f.args[0], addressed(t, f.args, plain)[1:]...)
			want, status := outcome(t, direct)
			if status != f.status {
				t.Fatalf("without rddp run: status %d, want %d", status, f.status)
			}
			with := under(append([]string{exit}, addressed(t, f.args, exit)...)...)
			with.Args[0], with.Stderr = superviseTCP, &log
			got, status := outcome(t, with)
			if status != f.status || !bytes.Equal(got, want) {
				t.Errorf("%d bytes and status %d; without rddp run %d and %d\n%s", len(got), status, len(want), f.status, log.Bytes())
			}
			if line := fmt.Sprintf("ddp=%d plain=0 untouched=0", f.conns); !strings.Contains(log.String(), line) {
				t.Errorf("want %q in the log:\n%s", line, log.Bytes())
			}
		})
	}
}

// addressed returns args with HOST and PORT replaced.
func addressed(t *testing.T, args []string, address string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = strings.NewReplacer("HOST", host, "PORT", port).Replace(a)
	}
	return all
}

// outcome runs a command, which must exist, and returns its output and its exit status.
func outcome(t *testing.T, c *exec.Cmd) ([]byte, int) {
	t.Helper()
	out, err := c.Output()
	if c.ProcessState == nil {
		t.Fatalf("%v: `make verbs` installs it", err)
	}
	return out, c.ProcessState.ExitCode()
}

// TestTCPConnections makes a thousand simultaneous connections of one program over DDP.
func TestTCPConnections(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	c := underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-echo", "1000", "10000")
	mustSucceed(t, c, &log, `"TCP connections" ddp=1000 plain=0 untouched=0`)
}
