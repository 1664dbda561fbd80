package tcpscript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/rddp/rddp/toe"
)

// errorsByName are the errors that a step can want.
var errorsByName = map[string]error{
	"EOF": io.EOF, "RESET": syscall.ECONNRESET, "REFUSED": syscall.ECONNREFUSED, "TIMEOUT": syscall.ETIMEDOUT,
	"PIPE": syscall.EPIPE, "DEADLINE": os.ErrDeadlineExceeded,
}

// shortly is the deadline of a call that must not succeed.
const shortly = 50 * time.Millisecond

// dialResult is what Dial returns.
type dialResult struct {
	stream toe.Stream
	err    error
}

// wantError compares err with the name of an error; no name means nil.
func wantError(err error, args []string) error {
	if len(args) == 0 {
		return err
	}
	want := errorsByName[args[0]]
	if want == nil {
		return fmt.Errorf("no error %q", args[0])
	}
	if !errors.Is(err, want) {
		return fmt.Errorf("error %v, want %v", err, want)
	}
	return nil
}

func (r *run) listen([]string) (err error) {
	r.listener, err = r.w.listen(r.local)
	return err
}

func (r *run) accept([]string) error {
	accepted := make(chan dialResult, 1)
	go func() {
		s, err := r.listener.Accept()
		accepted <- dialResult{s, err}
	}()
	return r.established(accepted)
}

// established waits for the result of Accept or Dial.
func (r *run) established(c <-chan dialResult) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case d := <-c:
		r.stream = d.stream
		return d.err
	case <-limit.C:
		return errors.New("no connection")
	}
}

// connect dials the script. TCP chooses the local port.
func (r *run) connect([]string) error {
	r.local = netip.AddrPortFrom(r.local.Addr(), 0)
	dialed := make(chan dialResult, 1)
	r.dialed = dialed
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s, err := r.w.backend.Dial(ctx, "tcp", r.remote.String())
		dialed <- dialResult{s, err}
	}()
	return nil
}

func (r *run) connected(args []string) error {
	c := r.dialed
	r.dialed = nil
	return wantError(r.established(c), args)
}

// write writes the next bytes of the program's stream: N [ERROR].
func (r *run) write(args []string) error {
	if len(args) == 0 {
		return errors.New("no number")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = outByte(uint32(r.written + i))
	}
	limit := patience
	if len(args) > 1 && args[1] == "DEADLINE" {
		limit = shortly
		m, err := r.stream.TryWriteBatch([][]byte{b}) // on a busy machine the deadline may pass before Write begins
		if err != nil {
			return err
		}
		r.written, b = r.written+m, b[m:]
	}
	if err := r.stream.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	m, err := r.stream.Write(b)
	r.written += m
	return wantError(err, args[1:])
}

// readStep reads the next bytes of the script's stream, or waits for an error.
func (r *run) readStep(args []string) error {
	if len(args) != 1 {
		return errors.New("read N, or read ERROR")
	}
	n, e := strconv.Atoi(args[0])
	limit := patience
	if args[0] == "DEADLINE" {
		limit = shortly
	}
	if err := r.stream.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if e != nil {
		n, err := r.stream.Read(make([]byte, 1))
		if n > 0 {
			return fmt.Errorf("read a byte, want %s", args[0])
		}
		return wantError(err, args)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.stream, b); err != nil {
		return err
	}
	for _, got := range b {
		if want := inByte(uint32(r.readN)); got != want {
			return fmt.Errorf("byte %d is %#x, want %#x", r.readN, got, want)
		}
		r.readN++
	}
	return nil
}

func (r *run) pending(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	got, err := r.stream.Pending()
	if err == nil && got != n[0] {
		err = fmt.Errorf("%d bytes can be read, want %d", got, n[0])
	}
	return err
}

func (r *run) closeWrite([]string) error { return r.stream.CloseWrite() }

func (r *run) closeStep([]string) error { return r.stream.Close() }

func (r *run) abort([]string) error { return r.stream.Abort() }
