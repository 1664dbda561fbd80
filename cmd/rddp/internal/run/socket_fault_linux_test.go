//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["socket-fault"] = faultySocketProgram }

// A faulty is a session of two extended sockets on a device that may fail.
type faulty struct {
	ctx    context.Context
	b      *verbs.Backend
	memory *extsock.Memory // of the end that accepts
	data   []byte          // the other end writes it and reads it back

	mu   sync.Mutex
	errs []error // the failures of the test
}

// fails reports whether a call has failed. It records errors that the packages do not document.
func (f *faulty) fails(what string, err error) bool {
	if err != nil && !isTyped(err) && !isLost(err) {
		f.wrong("%s: %w", what, err)
	}
	return err != nil
}

func (f *faulty) wrong(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// isLost reports whether the error is one that TCP, or a connection in process, returns when the
// peer is gone.
func isLost(err error) bool {
	for _, want := range []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// faultySocketProgram runs a session of extended sockets. Each call returns, with a documented
// error if it fails; the received data is correct; and nothing is leaked.
func faultySocketProgram([]string) error {
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	f := &faulty{ctx: ctx, b: new(verbs.Backend), data: bytes.Repeat([]byte("0123456789abc"), 10_000)}
	f.run()
	f.fails("Close of the device", f.b.Close())
	return errors.Join(append(f.errs, goleak.Find(before))...)
}

func (f *faulty) run() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire, Backend: f.b}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if f.fails("Listen", err) {
		return
	}
	if f.memory, err = extsock.NewMemory(f.b, 8192, ddp.RemoteRead|ddp.RemoteWrite); f.fails("NewMemory", err) {
		f.fails("Close", l.Close())
		return
	}
	var accepted sync.WaitGroup
	accepted.Go(func() {
		if c, err := l.AcceptDDP(); !f.fails("Accept", err) {
			f.end(c, f.accepted)
		}
	})
	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if f.fails("Dial", err) {
		f.fails("Close", l.Close())
	} else {
		f.end(c, f.dialed)
	}
	_ = l.Close() // an Accept returns; it may be closed already
	accepted.Wait()
	if err := l.Wait(f.ctx); err != nil {
		f.wrong("the listener: %w", err)
	}
	f.fails("Close", f.memory.Close())
}

// end runs one end, and closes it.
func (f *faulty) end(c *extsock.Conn, run func(*extsock.Conn)) {
	run(c)
	f.fails("Close", c.Close())
	if err := c.Wait(f.ctx); err != nil {
		f.wrong("a connection: %w", err)
	}
}

func (f *faulty) accepted(c *extsock.Conn) {
	r, err := f.memory.Share(c)
	if f.fails("Share", err) {
		return
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); f.fails("Write", err) {
		return
	}
	got, err := io.ReadAll(c)
	f.compare(got, err)
	if !f.fails("Read", err) {
		_, err = c.Write(got)
		f.fails("Write", err)
	}
}

// compare checks the bytes that an end has read until the end of the stream or an error.
func (f *faulty) compare(got []byte, err error) {
	if err == nil && len(got) != len(f.data) || !bytes.HasPrefix(f.data, got) {
		f.wrong("%d bytes of %d arrived, or other ones, %w", len(got), len(f.data), err)
	}
}

func (f *faulty) dialed(c *extsock.Conn) {
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err == io.EOF || f.fails("Read", err) { //nolint:errorlint // as ReadFull returns it; the other end has no memory
		return
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		f.wrong("the Handle: %w", err)
		return
	}
	remote := c.Remote(h)
	for at := range 8 {
		piece, got := bytes.Repeat([]byte{byte(at + 1)}, 1024), make([]byte, 1024)
		if _, err := remote.WriteAt(piece, int64(at)*1024); f.fails("WriteAt", err) {
			return
		}
		if _, err := remote.ReadAt(got, int64(at)*1024); f.fails("ReadAt", err) {
			return
		}
		if !bytes.Equal(got, piece) || !bytes.Equal(f.memory.Bytes()[at*1024:][:1024], piece) {
			f.wrong("piece %d of the memory is not what was written", at)
		}
	}
	for at := 0; at < len(f.data); at += 10_000 {
		if _, err := c.Write(f.data[at:][:10_000]); f.fails("Write", err) {
			return
		}
	}
	if f.fails("CloseWrite", c.CloseWrite()) {
		return
	}
	got, err := io.ReadAll(c)
	f.compare(got, err)
	f.fails("Read", err)
}

// TestSocketFaults makes the device fail at each step of a session of extended sockets.
func TestSocketFaults(t *testing.T) {
	withFaults(t, "socket-fault", []string{
		"event=DEVICE_FATAL@0s", "event=DEVICE_FATAL@1ms", "event=DEVICE_FATAL@3ms", "event=DEVICE_FATAL@5ms", "qp-error@0s", "qp-error@1ms", "qp-error@3ms",
		"register=ENOMEM@1", "register=ENOMEM@2", "register=ENOMEM@3", "register=EINVAL@2",
	}, 40, testmode.Rounds(3, 13), 1, 100, 500, 1000, 10_000, 20_000, 50_000, 100_000, 200_000, 270_000)
}

// withFaults runs a program with each of the faults, under both kinds of device. Further faults are
// in the operations from the first one to the last one, in steps, and a cut after each number of
// bytes.
func withFaults(t *testing.T, program string, faults []string, last, step int, cuts ...int) {
	t.Helper()
	for n := 1; n <= last; n += step {
		faults = append(faults, fmt.Sprintf("send=FATAL_ERR@%d", n), fmt.Sprintf("receive=LOC_PROT_ERR@%d", n))
	}
	for _, n := range cuts {
		faults = append(faults, fmt.Sprintf("cut@%dB", n))
	}
	for _, face := range []string{supervise, superviseIWARP} {
		for _, fault := range faults {
			t.Run(face+" "+fault, func(t *testing.T) {
				c := under(performance(t, program)...)
				c.Args[0] = face
				c.Env = append(os.Environ(), faultOfTest+"="+fault)
				if err := c.Run(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
