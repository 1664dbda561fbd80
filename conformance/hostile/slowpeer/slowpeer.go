// Package slowpeer opens many connections that send little or nothing. The connections belong to
// another process. So the descriptors and the memory of the process under test are those of the
// connections that it has accepted.
//
// The other process is the test binary itself. So the TestMain of a package that starts slow peers
// calls [Main] first.
package slowpeer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/mpa"
)

// env is the environment variable that makes a test binary the other process. Its value is a Peers
// in JSON.
const env = "RDDP_SLOW_PEERS"

// requestLen is the length in bytes of the MPA Request that slow peers begin and never end.
const requestLen = 20

// Peers describes the connections.
type Peers struct {
	Address string // of the TCP listener to connect to
	N       int    // how many connections there are
	Silent  bool   // the connections send nothing but Sends, and not a slow MPA Request
	Sends   []byte // what each connection sends at once
}

// Main runs the peers and exits if this process is one that Start has started. Otherwise it does
// nothing.
func Main() {
	job := os.Getenv(env)
	if job == "" {
		return
	}
	var p Peers
	err := json.Unmarshal([]byte(job), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run opens N connections. Connection i sends i mod 20 bytes of a Request, one byte a second,
// unless the peers are silent. The process prints "open" when all connections are open, and ends
// when its standard input does.
func (p Peers) run() error {
	time.AfterFunc(2*time.Minute, func() { os.Exit(1) }) // the parent may be gone
	conns := make([]net.Conn, p.N)
	for i := range conns {
		c, err := net.Dial("tcp", p.Address)
		if p.Silent && errors.Is(err, syscall.ECONNRESET) {
			continue // the server has displaced it already
		}
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		conns[i] = c
		if len(p.Sends) > 0 {
			c.Write(p.Sends) // an error means that the server has closed the connection
		}
	}
	fmt.Println("open")
	if !p.Silent {
		go dribble(conns)
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// dribble sends the first i mod 20 bytes of a Request on connection i, one byte a second.
func dribble(conns []net.Conn) {
	request := mpa.Frame{CRC: true, Revision: 1}.AppendTo(nil)[:requestLen]
	for n, tick := 0, time.Tick(time.Second); n < requestLen-1; n++ {
		for i, c := range conns {
			if i%requestLen > n {
				c.Write(request[n : n+1]) // an error means that the server has closed the connection
			}
		}
		<-tick
	}
}

// Start runs the peers in another process until stop is called or the test ends. It returns when
// all connections are open.
func Start(t testing.TB, p Peers) (stop func()) {
	t.Helper()
	job, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+string(job))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process of the slow peers: %v", err)
		}
	})
	t.Cleanup(stop)
	if s, err := bufio.NewReader(out).ReadString('\n'); err != nil || s != "open\n" {
		t.Fatalf("the slow peers: %q, %v", s, err)
	}
	return stop
}
