//go:build amd64 || arm64

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["socket-flow"] = flowProgram }

// flowProgram is one end of a connection on which bytes flow in both directions. It listens and
// writes its port to a named pipe, or dials. The victim kills itself while bytes flow, and the
// survivor gets errors.
//
//	socket-flow listen|dial device|process victim|survivor PIPE
func flowProgram(args []string) (err error) {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	if args[1] == "device" {
		b := new(verbs.Backend)
		defer func() { err = errors.Join(err, b.Close()) }()
		cfg.Backend = b
	}
	c, err := flowConnection(cfg, args[0] == "listen", args[3])
	if err != nil {
		return err
	}
	if st := c.ConnectionState(); (st.Device != "") != (args[1] == "device") {
		return fmt.Errorf("state %+v", st)
	}
	if args[2] == "victim" {
		return dieFlowing(c)
	}
	return surviveFlowing(c)
}

func flowConnection(cfg *extsock.Config, listens bool, file string) (*extsock.Conn, error) {
	if !listens {
		port, err := awaitPort(file)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
		defer cancel()
		return (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", fmt.Sprint("127.0.0.1:", port))
	}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	if err := os.WriteFile(file, []byte(port), 0o600); err != nil {
		return nil, err
	}
	return l.AcceptDDP()
}

// dieFlowing writes and reads, and then kills its own process.
func dieFlowing(c *extsock.Conn) error {
	go func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}()
	if _, err := io.CopyN(io.Discard, struct{ io.Reader }{c}, 1<<20); err != nil {
		return err
	}
	return unix.Kill(unix.Getpid(), unix.SIGKILL)
}

// surviveFlowing reads and writes when the peer is killed. Both errors are those that a program
// expects with TCP, or, in process, the error for an early FIN.
func surviveFlowing(c *extsock.Conn) error {
	var errs [2]error
	var both sync.WaitGroup
	for i, f := range []func([]byte) (int, error){c.Read, c.Write} {
		both.Go(func() {
			for b := make([]byte, 64<<10); errs[i] == nil; {
				_, errs[i] = f(b)
			}
		})
	}
	both.Wait()
	for i, err := range errs {
		early := c.ConnectionState().Device == "" && errors.Is(err, io.ErrUnexpectedEOF)
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !early {
			return fmt.Errorf("%s of a connection whose peer was killed: %w", []string{"Read", "Write"}[i], err)
		}
	}
	return c.Close()
}

// TestSocketKilled: the peer of a killed program gets ECONNRESET, on a device as well as in
// process.
func TestSocketKilled(t *testing.T) {
	for _, tt := range []struct{ kind, victim, survivor string }{
		{supervise, "device", "device"}, {superviseIWARP, "device", "device"},
		{superviseIWARP, "process", "device"}, {superviseIWARP, "device", "process"},
	} {
		for _, listens := range []string{"victim", "survivor"} {
			t.Run(fmt.Sprintf("%s %s is killed, %s survives, the %s listens", tt.kind, tt.victim, tt.survivor, listens), func(t *testing.T) {
				file := namedPipe(t)
				start := func(fate, place string) *exec.Cmd {
					role := "dial"
					if fate == listens {
						role = "listen"
					}
					args := performance(t, "socket-flow", role, place, fate, file)
					c := exec.Command(args[0], args[1:]...)
					if c.Stderr = os.Stderr; place == "device" {
						c = under(args...)
						c.Args[0] = tt.kind
					}
					if err := c.Start(); err != nil {
						t.Fatal(err)
					}
					return c
				}
				victim := start("victim", tt.victim)
				if err := start("survivor", tt.survivor).Wait(); err != nil {
					t.Error(err)
				}
				if err := victim.Wait(); err == nil {
					t.Error("the victim is alive")
				}
			})
		}
	}
}
