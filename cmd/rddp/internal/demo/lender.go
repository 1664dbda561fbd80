package demo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/toe/verbs"
)

// Lend is the process that lends its counter, on the RDMA device that its system has. It listens on
// free ports of the loopback interface, prints its two addresses (extended sockets, plain TCP),
// the name of the device and its PID as one line on out, and counts the milliseconds until in ends.
// Over plain TCP it answers each byte with the counter.
func Lend(in io.Reader, out io.Writer) error {
	device := new(verbs.Backend)
	defer device.Close()
	d, err := device.Device()
	if err != nil {
		return err
	}
	memory, err := extsock.NewMemory(device, counterLen, extsock.RemoteRead)
	if err != nil {
		return err
	}
	defer memory.Close()
	// The pages of a Memory are aligned, and clients read a word of 8 bytes at once.
	counter := (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(memory.Bytes())))
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, Backend: device})
	if err != nil {
		return err
	}
	defer l.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer plain.Close()
	go accept.Each(context.Background(), slog.Default(), l, logged(func(c net.Conn) error { return lendTo(c.(*extsock.Conn), memory) }))
	go accept.Each(context.Background(), slog.Default(), plain, logged(func(c net.Conn) error { return tell(c, counter) }))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.Tick(time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick:
				counter.Add(1)
			}
		}
	}()
	defer func() { // before the memory goes
		close(stop)
		<-stopped
	}()
	fmt.Fprintln(out, l.Addr(), plain.Addr(), d.Name(), os.Getpid())
	_, err = io.Copy(io.Discard, in)
	return err
}

const counterLen = 8

// lendTo grants a client the counter.
func lendTo(c *extsock.Conn, memory *extsock.Memory) error {
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil { // on an RNIC the end that dials sends first
		return err
	}
	r, err := memory.Share(c)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return err
}

// tell answers each byte with the counter.
func tell(c net.Conn, counter *atomic.Uint64) error {
	question := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, question); err != nil {
			return err
		}
		if _, err := c.Write(binary.NativeEndian.AppendUint64(nil, counter.Load())); err != nil {
			return err
		}
	}
}

// A loan is the client's view of the counter.
type loan struct {
	c      *extsock.Conn
	remote *extsock.RemoteMemory
	plain  net.Conn
}

func borrow(ctx context.Context, rdma, plain string) (*loan, error) {
	c, err := (&extsock.Dialer{}).DialDDP(ctx, "tcp", rdma)
	if err != nil {
		return nil, err
	}
	handle := make([]byte, 16)
	_, err = c.Write([]byte{0})
	if err == nil {
		_, err = io.ReadFull(c, handle)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	h, _, err := extsock.ParseHandle(handle)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t, err := (&net.Dialer{}).DialContext(ctx, "tcp", plain)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &loan{c, c.Remote(h), t}, nil
}

func (l *loan) close() { _, _ = l.c.Close(), l.plain.Close() }

// read reads the counter by RDMA n times. It returns its first and last value, and the time of one
// Read.
func (l *loan) read(n int) (first, last uint64, each time.Duration, err error) {
	b := make([]byte, counterLen)
	begin := time.Now()
	for i := range n {
		l.c.SetDeadline(time.Now().Add(patience))
		if _, err := l.remote.ReadAt(b, 0); err != nil {
			return 0, 0, 0, err
		}
		if last = binary.NativeEndian.Uint64(b); i == 0 {
			first = last
		}
	}
	return first, last, time.Since(begin) / time.Duration(n), nil
}

// ask asks for the counter over TCP, and waits for the answer.
func (l *loan) ask(wait time.Duration) (uint64, error) {
	if _, err := l.plain.Write([]byte{0}); err != nil {
		return 0, err
	}
	return l.answer(wait)
}

// answer waits for the answer to an earlier question.
func (l *loan) answer(wait time.Duration) (uint64, error) {
	l.plain.SetReadDeadline(time.Now().Add(wait))
	b := make([]byte, counterLen)
	_, err := io.ReadFull(l.plain, b)
	return binary.NativeEndian.Uint64(b), err
}

const (
	patience = 10 * time.Second       // with what has to come
	silence  = 500 * time.Millisecond // without an answer over TCP
	reads    = 1000
)
