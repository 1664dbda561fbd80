package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// tried returns the log of an entrance that has tried the exit at an address.
func tried(t *testing.T, to string, cfg Config) string {
	t.Helper()
	var log bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	p, err := Listen(t.Context(), address(t, "127.0.0.1:0"), address(t, to), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.try(t.Context())
	return log.String()
}

// TestTrial: a trial ends at the exit, without a place and without a connection to the service, and
// needs no service.
func TestTrial(t *testing.T) {
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	exit := start(t, "rddp://127.0.0.1:0", service.Addr().String(), Config{MaxConns: 1})
	for range 3 {
		if log := tried(t, exit.Addr().String(), Config{}); log != "" {
			t.Errorf("the entrance says %s", log)
		}
	}
	prototest.Wait(t, "the end of the trials", func() bool { return exit.Stats().Open == 0 })
	if s := exit.Stats(); s != (Stats{}) {
		t.Errorf("the exit counts trials: %+v", s)
	}
	service.(*net.TCPListener).SetDeadline(time.Unix(1, 0))
	if c, err := service.Accept(); err == nil {
		c.Close()
		t.Error("a trial reaches the service")
	}
}

// TestTrialFails: the entrance warns, once, if its exit is not there or something else is, unless
// it falls back.
func TestTrialFails(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			io.ReadFull(c, make([]byte, 20))
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			c.Close()
		}
	}()
	defer func() {
		other.Close()
		<-served
	}()
	for _, tt := range []struct {
		to, want string
		fallback bool
	}{
		{gone.Addr().String(), "connection refused", false},
		{gone.Addr().String(), "connection refused", true},
		{other.Addr().String(), "the peer does not speak MPA", false},
		{other.Addr().String(), "", true},
	} {
		log := tried(t, "rddp://"+tt.to, Config{Fallback: tt.fallback})
		if tt.want == "" && log != "" || tt.want != "" && (strings.Count(log, "no client can be carried") != 1 || !strings.Contains(log, tt.want)) {
			t.Errorf("fallback %v: the entrance says %q, want %q in it", tt.fallback, log, tt.want)
		}
	}
}

// TestTrialOfAnotherEnd: a program that speaks DDP itself, or an exit of an older version, accepts
// the trial. It reads the end of the stream.
func TestTrialOfAnotherEnd(t *testing.T) {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			c.SetDeadline(prototest.Deadline(t))
			_, err = c.Read(make([]byte, 1))
			c.Close()
		}
		read <- err
	}()
	if log := tried(t, "rddp://"+l.Addr().String(), Config{}); log != "" {
		t.Errorf("the entrance says %s", log)
	}
	if err := <-read; err != io.EOF {
		t.Errorf("the program reads %v", err)
	}
}
