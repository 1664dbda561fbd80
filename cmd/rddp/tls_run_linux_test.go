//go:build amd64 || arm64

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

func init() {
	programs["program-echo"], programs["program-ask"] = echoProgram, askProgram
}

const (
	greeting = "hello\n" // longer than the header of a TLS record, as is word
	word     = "a word"
)

// echoProgram is a TCP server that greets and echoes. It prints its address, and ends when its
// standard input does.
func echoProgram([]string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the connection has been reset, or the program ends
			}
			_, _ = io.WriteString(c, greeting) // the client will notice an error
			go tcptest.Echo(c.(*net.TCPConn))
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// askProgram sends a word to a TCP server. It ends with status 1 if the word does not come back.
func askProgram(args []string) {
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		os.Exit(1)
	}
	if _, err := io.WriteString(c, word); err != nil {
		os.Exit(1)
	}
	b := make([]byte, len(greeting)+len(word))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != greeting+word {
		os.Exit(1)
	}
}

// A runServer is an echoProgram under `rddp run`.
type runServer struct {
	*process
	stdin        io.Closer
	address, pin string
}

func startRunServer(t *testing.T, flags, dir string) *runServer {
	t.Helper()
	line := "run -v --tcp-listen 127.0.0.1:1-65535 " + flags
	args := append(strings.Fields(strings.ReplaceAll(line, "DIR", dir)), os.Args[0], "program-echo")
	s := &runServer{process: newProcess(t, args...)}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	s.start(t)
	if strings.Contains(flags, "--tls-self") {
		_, s.pin, _ = strings.Cut(s.text(t, "--tls-pin "), "--tls-pin ")
		s.pin = strings.TrimSuffix(s.pin, `"`)
	}
	if s.address, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err, s.end(t))
	}
	s.address = strings.TrimSpace(s.address)
	return s
}

// stop waits until the server has logged something, and ends it. It returns the log lines about
// connections.
func (s *runServer) stop(t *testing.T, something string) (about []string) {
	t.Helper()
	kill := time.AfterFunc(prototest.Patience(t), func() { s.cmd.Process.Kill() })
	defer kill.Stop()
	said := false
	for line := range s.lines {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, " from=") {
			about = append(about, line)
		}
		if !said && strings.Contains(line, something) {
			said = true
			s.stdin.Close()
		}
	}
	if err := s.cmd.Wait(); err != nil || !said {
		t.Errorf("the server ends with %v, and has not said %q: %q", err, something, about)
	}
	return about
}

// TestTLSOfRun is TestTLS for TCP connections of programs under `rddp run`. If this end has no TLS
// configured, TLS may be the program's own: then the connection continues in plain TCP, and the
// reason is logged with -v.
func TestTLSOfRun(t *testing.T) {
	dir := tlsFiles(t)
	for _, tt := range tlsCases {
		t.Run(tt.desc, func(t *testing.T) {
			s := startRunServer(t, tt.server, dir)
			line := strings.NewReplacer("DIR", dir, "PIN", s.pin).Replace("run --timeout 1h --tcp " + s.address + " " + tt.client)
			c := newProcess(t, append(strings.Fields(line), os.Args[0], "program-ask", s.address)...)
			var client bytes.Buffer
			c.cmd.Stderr = &client
			err := c.cmd.Run()
			if (err == nil) != (tt.inClient == "") { // then the server may never say what stop waits for
				t.Fatalf("client: %v, %s", err, &client)
			}
			want := tt.inServer
			if tt.inClient == "" {
				want = "connection has ended"
			}
			server := s.stop(t, want)
			t.Logf("client: %v, %sserver: %s", err, &client, strings.Join(server, "\n"))
			if tt.inClient == "" {
				if err != nil || client.Len() > 0 || len(server) != 2 {
					t.Error("want success, and a connection over DDP that begins and ends")
				}
				return
			}
			if err == nil || strings.Count(client.String(), "\n") != 1 || !strings.Contains(client.String(), tt.inClient) {
				t.Errorf("client: %v; want one line with %q", err, tt.inClient)
			}
			if len(server) > 1 && tt.client != "" { // without TLS the client connects once more, in plain TCP
				t.Errorf("the server says more than one line")
			}
		})
	}
}
