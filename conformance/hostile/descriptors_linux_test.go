package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

func init() { roles["few files"] = fewFiles }

// lines counts the calls of Write.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(p []byte) (int, error) {
	l.n.Add(1)
	return len(p), nil
}

// fewFiles is an HTTP server over DDP mode in a process that may have 256 files open. It reports
// how often Accept failed.
func fewFiles() error {
	limit := syscall.Rlimit{Cur: 256, Max: 256}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupPrefer})
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	var failures lines
	s := &http.Server{
		ErrorLog: log.New(&failures, "", 0), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		select {
		case err := <-ended:
			fmt.Println("ended:", err)
		default:
			fmt.Println(failures.n.Load())
		}
	}
	return nil
}

// TestAcceptWithoutFiles uses up all the files that a server process may have. Its Accept fails
// with an error that net/http's loop tolerates, existing connections are served meanwhile, and when
// files become free, new connections are accepted again.
func TestAcceptWithoutFiles(t *testing.T) {
	server := startChild(t, "few files")
	address := server.line(t)
	client := func() *http.Client {
		d := &extsock.Dialer{Config: &extsock.Config{Startup: extsock.StartupRequire}}
		return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: d.DialContext}}
	}
	post := func(c *http.Client) error {
		r, err := c.Post("http://"+address, "text/plain", strings.NewReader("echo"))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err == nil && string(b) != "echo" {
			err = fmt.Errorf("got %q", b)
		}
		return err
	}
	first := client()
	defer first.CloseIdleConnections()
	if err := post(first); err != nil {
		t.Fatal(err)
	}
	for round := range testmode.Count(3, 1) {
		var crowd []net.Conn
		for range 300 {
			c, err := (&net.Dialer{Timeout: time.Minute}).DialContext(context.Background(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			crowd = append(crowd, c)
		}
		before := server.ask(t, "?")
		deadline := time.Now().Add(time.Minute)
		for before == server.ask(t, "?") { // until one more Accept has failed
			if err := post(first); err != nil {
				t.Fatalf("without files, a connection that is there: %v", err)
			}
			if time.Now().After(deadline) {
				t.Fatalf("Accept has not failed: %s", before)
			}
		}
		for _, c := range crowd {
			c.Close()
		}
		begin := time.Now()
		again := client()
		if err := post(again); err != nil {
			t.Fatalf("a new connection when files are there again: %v", err)
		}
		again.CloseIdleConnections()
		t.Logf("round %d: %s failures of Accept; a new connection was served %v after files came back", round, server.ask(t, "?"), time.Since(begin))
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("it took %v", d)
		}
	}
	server.end(t)
}
