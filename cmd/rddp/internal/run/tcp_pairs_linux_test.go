//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

const nginxConf = `worker_processes 2; pid DIR/nginx.pid; error_log DIR/error.log; daemon DAEMON;
events { worker_connections 64; }
http { access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
server { listen HOST:PORT REUSE; root DIR; } }`

const nioSource = `import java.net.*; import java.nio.*; import java.nio.channels.*; import java.util.*;
class Nio {
	public static void main(String[] a) throws Exception {
		InetSocketAddress at = new InetSocketAddress(a[1], Integer.parseInt(a[2]));
		Selector s = Selector.open();
		if (a[0].equals("serve")) {
			ServerSocketChannel l = ServerSocketChannel.open().bind(at);
			l.configureBlocking(false);
			l.register(s, SelectionKey.OP_ACCEPT);
		} else for (int i = 0; i < 5; i++) {
			SocketChannel c = SocketChannel.open();
			c.configureBlocking(false);
			c.register(s, SelectionKey.OP_CONNECT, new int[] {0, 0});
			c.connect(at);
		}
		final int size = 300000;
		byte[] data = new byte[size];
		new Random(1).nextBytes(data);
		ByteBuffer b = ByteBuffer.allocate(10000);
		for (int done = 0; done < 5; ) {
			s.select();
			for (SelectionKey k : s.selectedKeys()) {
				if (k.isAcceptable()) {
					SocketChannel c = ((ServerSocketChannel) k.channel()).accept();
					if (c == null) continue;
					c.configureBlocking(false);
					c.register(s, SelectionKey.OP_READ);
					continue;
				}
				SocketChannel c = (SocketChannel) k.channel();
				if (k.isConnectable()) {
					c.finishConnect();
					if (!c.getRemoteAddress().equals(at)) throw new Exception("the peer is " + c.getRemoteAddress());
					k.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
					continue;
				}
				int[] n = (int[]) k.attachment();
				if (k.isWritable()) {
					n[0] += c.write(ByteBuffer.wrap(data, n[0], size - n[0]));
					if (n[0] == size) { c.shutdownOutput(); k.interestOps(SelectionKey.OP_READ); }
				}
				if (!k.isReadable()) continue;
				b.clear();
				int got = c.read(b);
				b.flip();
				if (n == null) {
					while (got > 0 && b.hasRemaining()) c.write(b);
					if (got < 0) c.close();
					continue;
				}
				if (got < 0) {
					if (n[1] != size) throw new Exception(n[1] + " bytes");
					c.close();
					done++;
				}
				for (; got > 0 && b.hasRemaining(); n[1]++) if (b.get() != data[n[1]]) throw new Exception("byte " + n[1]);
			}
			s.selectedKeys().clear();
		}
		System.out.println("5 connections");
	}
}`

const goSource = `package main

import ("crypto/sha256"; "fmt"; "io"; "net"; "os")

func main() {
	if os.Args[1] == "serve" {
		l, err := net.Listen("tcp", os.Args[2])
		for err == nil {
			var c net.Conn
			if c, err = l.Accept(); err == nil {
				go func() { io.Copy(c, c); c.Close() }()
			}
		}
		panic(err)
	}
	c, err := net.Dial("tcp", os.Args[2])
	if err != nil { panic(err) }
	go func() { io.Copy(c, os.Stdin); c.(*net.TCPConn).CloseWrite() }()
	h := sha256.New()
	n, err := io.Copy(h, c)
	fmt.Printf("%d %x %v %v\n", n, h.Sum(nil), err, c.RemoteAddr())
}`

const sshOptions = "-F /dev/null -i DIR/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"

// A pairing is a server and its clients. Each line is one of a shell; HOST, PORT and DIR stand for
// an address and a folder.
type pairing struct {
	desc    string
	files   map[string]string // in DIR
	prepare string
	server  string
	stop    string // ends the server; empty means SIGTERM
	clients []tcpClient
	once    bool // the server ends by itself, after one client
}

// A tcpClient prints the same each time, and ends with this status.
type tcpClient struct {
	line   string
	status int
}

var pairings = []pairing{
	{
		desc: "http.server", server: "exec python3 -m http.server --bind HOST --directory DIR PORT 2>/dev/null",
		clients: []tcpClient{
			{"exec python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(\"http://HOST:PORT/file\").read())'", 0},
			{"exec curl -sSf http://HOST:PORT/none", 22},
		},
	},
	{
		desc: "nginx", files: map[string]string{"nginx.conf": strings.NewReplacer("DAEMON", "off", "REUSE", "").Replace(nginxConf)},
		server: "exec nginx -e DIR/error.log -p DIR -c DIR/nginx.conf",
		clients: []tcpClient{
			{"exec curl -sS http://HOST:PORT/file", 0},
			{"exec curl -sS --parallel --parallel-immediate --http1.1 http://HOST:PORT/file http://HOST:PORT/nginx.conf -o /dev/null -o /dev/null", 0},
			{"exec wget -q -O - http://HOST:PORT/file", 0},
		},
	},
	{
		desc: "nginx as a daemon, with SO_REUSEPORT", files: map[string]string{"nginx.conf": strings.NewReplacer("DAEMON", "on", "REUSE", "reuseport").Replace(nginxConf)},
		server: "exec nginx -e DIR/error.log -p DIR -c DIR/nginx.conf", stop: "kill $(cat DIR/nginx.pid)",
		clients: []tcpClient{{"for i in 1 2 3 4 5 6 7 8; do curl -sS http://HOST:PORT/file | cksum; done", 0}},
	},
	{
		desc: "redis", server: "exec redis-server --bind HOST --port PORT --save '' --dir DIR >/dev/null",
		clients: []tcpClient{
			{"redis-cli -h HOST -p PORT -x set k <DIR/file && redis-cli -h HOST -p PORT get k | cksum", 0},
			{"redis-benchmark -h HOST -p PORT -t get,set -c 50 -n 2000 -q >/dev/null", 0},
			{"redis-benchmark -h HOST -p PORT -t ping_mbulk -c 5 -k 0 -n 100 -q >/dev/null", 0},
		},
	},
	{
		// A listening nc ends when its peer has half-closed and its buffers are empty for a moment,
		// whatever of its input it has not read yet. So one end sends, and the other one only
		// receives.
		desc: "nc sends", server: "exec nc -N -l HOST PORT <DIR/file", once: true,
		clients: []tcpClient{{"exec nc -d HOST PORT", 0}},
	},
	{
		// The client ends when the server has closed, and the server has written what came by then.
		desc: "nc receives", server: "exec nc -d -l HOST PORT >DIR/got", once: true,
		clients: []tcpClient{{"nc -N HOST PORT <DIR/file && exec cksum DIR/got", 0}},
	},
	{
		desc: "sshd", prepare: "mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f DIR/host && ssh-keygen -q -t ed25519 -N '' -f DIR/id",
		server: "exec $(command -v sshd || echo /usr/sbin/sshd) -D -e -f /dev/null -p PORT -o ListenAddress=HOST -h DIR/host -o AuthorizedKeysFile=DIR/id.pub -o StrictModes=no -o PidFile=none -o Subsystem='sftp internal-sftp' 2>/dev/null",
		clients: []tcpClient{
			{"exec ssh " + sshOptions + " -p PORT HOST 'echo ${SSH_CONNECTION##* HOST}; exit 7'", 7},
			{"scp " + sshOptions + " -P PORT DIR/file HOST:DIR/copied && cmp DIR/file DIR/copied && rm DIR/copied", 0},
		},
	},
	{
		desc: "Java NIO", files: map[string]string{"Nio.java": nioSource}, server: "exec java DIR/Nio.java serve HOST PORT",
		clients: []tcpClient{{"exec java DIR/Nio.java connect HOST PORT", 0}},
	},
	{
		desc: "a static Go program", files: map[string]string{"echo.go": goSource}, prepare: "cd DIR && CGO_ENABLED=0 GOWORK=off go build -o echo echo.go",
		server: "exec DIR/echo serve HOST:PORT", clients: []tcpClient{{"exec DIR/echo connect HOST:PORT <DIR/file", 0}},
	},
	// A server that has not yet seen that its client has left refuses the next one.
	{
		desc: "iperf3", server: "exec iperf3 -s -1 -B HOST -p PORT >/dev/null", once: true,
		clients: []tcpClient{{"exec iperf3 -c HOST -p PORT -n 20M >/dev/null", 0}},
	},
	{
		desc: "iperf3 from the server", server: "exec iperf3 -s -1 -B HOST -p PORT >/dev/null", once: true,
		clients: []tcpClient{{"exec iperf3 -c HOST -p PORT -n 20M -P 4 -R >/dev/null", 0}},
	},
	{
		desc: "PostgreSQL", prepare: "chmod 755 DIR && mkdir DIR/pg && chown postgres DIR/pg && runuser -u postgres -- PGBIN/initdb -D DIR/pg/data -A trust -N >/dev/null",
		server: "exec runuser -u postgres -- PGBIN/postgres -D DIR/pg/data -k DIR/pg -c listen_addresses=HOST -p PORT -c fsync=off 2>/dev/null",
		stop:   "kill -INT $(head -1 DIR/pg/data/postmaster.pid)",
		clients: []tcpClient{
			// It listens before it is ready.
			{"until grep -q '^ready' DIR/pg/data/postmaster.pid; do sleep 0.01; done; exec pgbench -h HOST -p PORT -U postgres -i -q postgres 2>/dev/null", 0},
			{"pgbench -h HOST -p PORT -U postgres -c 8 -j 2 -t 20 postgres | grep processed", 0},
			{"pgbench -h HOST -p PORT -U postgres -C -S -c 4 -t 5 postgres | grep processed", 0},
			{"exec psql -h HOST -p PORT -U postgres -A -t -c 'select sum(tbalance) = (select sum(abalance) from pgbench_accounts), inet_server_port() from pgbench_tellers' postgres", 0},
			{"exec psql -h HOST -p PORT -U postgres -c 'select nothing' postgres", 1},
		},
	},
}

// TestTCPPairs runs servers and clients of the system: as they are, with the server under a
// supervisor, and with both. The clients print the same, and end with the same status.
func TestTCPPairs(t *testing.T) {
	for i, p := range testmode.Share(t, pairings) {
		t.Run(p.desc, func(t *testing.T) {
			// No other test has this address of loopback.
			at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(os.Getpid() >> 8), byte(os.Getpid()), byte(i + 2)}), 7000)
			x := newTrial(t, p, at)
			direct := x.run(t, false, false)
			for _, client := range []bool{false, true} {
				got := x.run(t, true, client)
				for i, want := range direct.outputs {
					if !bytes.Equal(got.outputs[i], want) {
						t.Errorf("client under rddp run: %v: client %d prints %d bytes, without %d:\n%.300s\n%.300s", client, i, len(got.outputs[i]), len(want), got.outputs[i], want)
					}
				}
				if got.status != direct.status {
					t.Errorf("the server ends with %v, without rddp run with %v", got.status, direct.status)
				}
				if client && (got.made == 0 || got.made != got.accepted) || !client && got.accepted > 0 || got.others {
					t.Errorf("%d connections made and %d accepted over DDP, others %v\n%s", got.made, got.accepted, got.others, got.log)
				}
			}
		})
	}
}

// A trial is a pairing at an address.
type trial struct {
	pairing
	at  netip.AddrPort
	dir string
}

func newTrial(t *testing.T, p pairing, at netip.AddrPort) *trial {
	t.Helper()
	x := &trial{pairing: p, at: at, dir: t.TempDir()}
	for dir := x.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // other users may pass
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := make([]byte, fetchLen)
	_, _ = rand.NewChaCha8([32]byte{}).Read(file)
	for name, text := range p.files {
		if err := os.WriteFile(filepath.Join(x.dir, name), []byte(x.words(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(x.dir, "file"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	if p.prepare != "" {
		if out, err := exec.Command("sh", "-c", x.words(p.prepare)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s; `make verbs` installs what is needed", err, out)
		}
	}
	return x
}

func (x *trial) words(s string) string {
	bin, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the test says what is missing
	return strings.NewReplacer("HOST", x.at.Addr().String(), "PORT", fmt.Sprint(x.at.Port()), "DIR", x.dir, "PGBIN", strings.Join(bin, "")).Replace(s)
}

// A trialResult is the result of a trial.
type trialResult struct {
	outputs        [][]byte
	status         string
	made, accepted int  // over DDP
	others         bool // a supervisor has counted other connections
	log            string
}

// run runs the server and its clients.
func (x *trial) run(t *testing.T, server, client bool) (r trialResult) {
	t.Helper()
	var log bytes.Buffer
	s := exec.Command("sh", "-c", x.words(x.server))
	if server {
		s = under(append([]string{":" + fmt.Sprint(x.at.Port())}, s.Args...)...)
		s.Args[0] = superviseListen
	}
	s.Stderr = &log
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = s.Wait() // its status is looked at
		close(ended)
	}()
	prototest.Wait(t, "the server", func() bool { return isListening(t, x.at) })
	for _, c := range x.clients {
		r.client(t, x, c, client)
	}
	if stop := x.words(x.stop); stop != "" {
		if out, err := exec.Command("sh", "-c", stop).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", stop, err, out)
		}
	} else if !x.once {
		_ = s.Process.Signal(unix.SIGTERM) // the server's status tells if it has ended already
	}
	<-ended
	prototest.Wait(t, "the end of the server", func() bool { return !isListening(t, x.at) })
	r.status = s.ProcessState.String()
	if server {
		var others bool
		r.accepted, others = counts(t, log.String())
		r.others = client && others
	}
	r.log += log.String()
	return r
}

// client runs a client.
func (r *trialResult) client(t *testing.T, x *trial, c tcpClient, supervised bool) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command("sh", "-c", x.words(c.line))
	if supervised {
		cmd = under(append([]string{":" + fmt.Sprint(x.at.Port())}, cmd.Args...)...)
		cmd.Args[0] = superviseTCP
	}
	cmd.Stderr = &log
	out, status := outcome(t, cmd)
	if status != c.status {
		t.Errorf("%q ends with status %d, want %d: %s", c.line, status, c.status, log.Bytes())
	}
	r.outputs = append(r.outputs, out)
	if supervised {
		made, others := counts(t, log.String())
		r.made += made
		r.others = r.others || others
	}
	r.log += log.String()
}

var countsLine = regexp.MustCompile(`"TCP connections" ddp=(\d+) plain=(\d+) untouched=(\d+)`)

// counts returns the counts of a supervisor.
func counts(t *testing.T, log string) (ddp int, others bool) {
	t.Helper()
	m := countsLine.FindStringSubmatch(log)
	if m == nil {
		t.Fatalf("no counts in the log:\n%s", log)
	}
	_, _ = fmt.Sscan(m[1], &ddp) // digits
	return ddp, m[2] != "0" || m[3] != "0"
}

// isListening reports whether a TCP socket listens at an IPv4 address. It may be one of IPv6, as
// Java's are.
func isListening(t *testing.T, at netip.AddrPort) bool {
	t.Helper()
	v4, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	v6, _ := os.ReadFile("/proc/net/tcp6") // without IPv6 there is none
	ip := at.Addr().As4()
	want := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), at.Port())
	return bytes.Contains(v4, []byte(" "+want+" 00000000:0000 0A")) ||
		bytes.Contains(v6, []byte(fmt.Sprintf(" %016X%08X%s %032X:0000 0A", 0, binary.NativeEndian.Uint32([]byte{0, 0, 0xff, 0xff}), want, 0)))
}

// TestTCPListeners has a thousand connections at a time, of one program to another one.
func TestTCPListeners(t *testing.T) {
	l := startListening(t, nil, "accept-echo", "127.0.0.1:0")
	go func() { _, _ = io.Copy(io.Discard, l.out) }() // its output about each connection
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, l.address, &log, "tcp-echo", "1000", "10000"), &log, `"TCP connections" ddp=1000 plain=0 untouched=0`)
	l.end(t, `"TCP connections" ddp=1000 plain=0 untouched=0`)
}
