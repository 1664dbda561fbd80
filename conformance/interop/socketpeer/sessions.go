//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock"
)

// sessions are the sessions by name. Each returns a description of what it has done.
var sessions = map[string]func(*peer) (string, error){
	"stream":   stream,      // N bytes go each way at the same time
	"half":     half,        // the dialing end sends N bytes and half-closes, and then gets an answer
	"deadline": deadlines,   // deadlines of a Read and of a Write pass, and the connection continues
	"crowd":    crowd,       // N connections are open at the same time, and each is used
	"remote":   remote,      // each end writes and reads N bytes of the other end's memory
	"keyvalue": keyValue,    // N entries of a store are set and read
	"latency":  latency,     // N RDMA Reads are measured during all occupations of the listening end
	"endless":  endless,     // bytes go both ways until the other end is killed
	"silent":   silent,      // no bytes go until the other end is killed
	"post":     post,        // each end posts N rounds of Work Requests, in message mode
	"early":    serverFirst, // the accepting end sends N bytes first
}

// most is the length in bytes of the longest Read and Write.
const most = 256 << 10

// produce writes n pseudorandom bytes with calls of various lengths, then their SHA-256, and
// half-closes.
func produce(c *extsock.Conn, seed byte, n int) error {
	bytes, calls := rand.NewChaCha8([32]byte{seed}), rand.New(rand.NewPCG(uint64(seed), 1))
	sum, p := sha256.New(), make([]byte, most)
	for at := 0; at < n; {
		p := p[:min(1+int(calls.Uint64N(1+calls.Uint64N(most))), n-at)]
		_, _ = bytes.Read(p) // it never fails
		sum.Write(p)
		if k, err := c.Write(p); k != len(p) || err != nil {
			return fmt.Errorf("a Write of %d bytes at %d = %d, %w", len(p), at, k, err)
		}
		at += len(p)
	}
	if _, err := c.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return c.CloseWrite()
}

// consume reads the bytes of produce to the end, and compares the SHA-256.
func consume(c *extsock.Conn, n int) error {
	sum := sha256.New()
	if got, err := io.CopyN(sum, struct{ io.Reader }{c}, int64(n)); err != nil {
		return fmt.Errorf("a Read at %d: %w", got, err)
	}
	rest, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(rest, sum.Sum(nil)) {
		return fmt.Errorf("the SHA-256 is %x, and the peer's is %x, %w", sum.Sum(nil), rest, err)
	}
	return nil
}

// seed is different at the two ends.
func (p *peer) seed() byte {
	if p.dials {
		return 1
	}
	return 2
}

func stream(p *peer) (string, error) {
	c := p.first
	err := together(2, func(i int) error {
		if i == 0 {
			return produce(c, p.seed(), p.n)
		}
		return consume(c, p.n)
	})
	return fmt.Sprintf("%d bytes with equal SHA-256 each way", p.n), errors.Join(err, c.Close())
}

func half(p *peer) (string, error) {
	c := p.first
	do := []func() error{func() error { return produce(c, p.seed(), p.n) }, func() error { return consume(c, p.n) }}
	if !p.dials {
		do[0], do[1] = do[1], do[0]
	}
	for _, f := range do {
		if err := f(); err != nil {
			return "", err
		}
	}
	if n, err := c.Write([]byte("more")); n != 0 || err == nil {
		return "", fmt.Errorf("a Write after CloseWrite = %d, %w", n, err)
	}
	return fmt.Sprintf("%d bytes one way, and after that half was closed as many the other way", p.n), c.Close()
}

func serverFirst(p *peer) (string, error) {
	if p.dials {
		return "heard first", errors.Join(consume(p.first, p.n), p.first.Close())
	}
	return "spoke first", errors.Join(produce(p.first, p.seed(), p.n), p.first.Close())
}

// deadlines lets deadlines pass at the dialing end. The other end sends, and then reads, only after
// a request on a second connection.
func deadlines(p *peer) (string, error) {
	all, err := p.connectAll(2)
	if err != nil {
		return "", err
	}
	c, control := all[0], all[1]
	if !p.dials {
		if _, err := io.ReadFull(control, make([]byte, 1)); err != nil {
			return "", err
		}
		n, err := io.Copy(io.Discard, struct{ io.Reader }{c})
		if err == nil {
			_, err = fmt.Fprintln(c, n)
		}
		return fmt.Sprint(n, " bytes read"), errors.Join(err, c.Close(), control.Close())
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		return "", err
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !isTimeout(err) {
		return "", fmt.Errorf("a Read with a deadline = %d, %w", n, err)
	}
	written := 0
	for err == nil {
		err = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if err == nil {
			var n int
			n, err = c.Write(make([]byte, most))
			written += n
		}
	}
	if !isTimeout(err) {
		return "", fmt.Errorf("a Write to a peer that does not read: %w", err)
	}
	if _, err := control.Write([]byte{1}); err != nil {
		return "", err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return "", err
	}
	n, err := c.Write([]byte("goes on"))
	if err == nil {
		written, err = written+n, c.CloseWrite()
	}
	if err != nil {
		return "", fmt.Errorf("after the deadlines: %w", err)
	}
	if b, err := io.ReadAll(c); string(b) != fmt.Sprintln(written) || err != nil {
		return "", fmt.Errorf("%d bytes written, and the peer has read %q, %w", written, b, err)
	}
	return fmt.Sprint(written, " bytes, those of a Write cut short included"), errors.Join(c.Close(), control.Close())
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &n) && n.Timeout()
}

func crowd(p *peer) (string, error) {
	began := time.Now()
	all, err := p.connectAll(p.n)
	if err != nil {
		return "", err
	}
	took := time.Since(began).Round(time.Millisecond)
	const each = 10_000
	err = together(len(all), func(i int) error {
		c := all[i]
		err := together(2, func(i int) error {
			if i == 0 {
				return produce(c, p.seed(), each)
			}
			return consume(c, each)
		})
		return errors.Join(err, c.Close())
	})
	return fmt.Sprintf("%d connections after %v, %d bytes each way of each", len(all), took, each), err
}

// endless succeeds if both the Read and the Write that are under way when the other end is killed
// return an error that a program can test for, and not an end of the stream.
func endless(p *peer) (string, error) {
	c := p.first
	var errs [2]error
	_ = together(2, func(i int) error {
		b := make([]byte, most)
		for at := 0; errs[i] == nil; {
			var n int
			if i == 0 {
				n, errs[i] = c.Write(b)
			} else {
				n, errs[i] = c.Read(b)
				if before := at; before < 1<<20 && before+n >= 1<<20 {
					fmt.Println("flowing")
				}
			}
			at += n
		}
		return nil
	})
	return p.bereaved(errs[0], errs[1])
}

// silent is endless with ends that wait for each other.
func silent(p *peer) (string, error) {
	c := p.first
	if err := together(2, func(i int) (err error) {
		if i == 0 {
			_, err = c.Write([]byte{1})
		} else {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		return err
	}); err != nil {
		return "", err
	}
	fmt.Println("flowing")
	_, read := c.Read(make([]byte, 1))
	var write error
	for write == nil { // the first Write may succeed
		_, write = c.Write([]byte{1})
	}
	return p.bereaved(write, read)
}

// bereaved succeeds if a Write and a Read have failed as they do when a peer disappears in the
// middle: as over TCP, except that a Read of a connection in process distinguishes an early FIN
// from the end of the stream.
func (p *peer) bereaved(write, read error) (string, error) {
	if early := !p.device && errors.Is(read, io.ErrUnexpectedEOF); !isReset(write) || !isReset(read) && !early {
		return "", fmt.Errorf("the Write: %w, the Read: %w", write, read)
	}
	return fmt.Sprintf("Write: %v, Read: %v", write, read), p.first.Close()
}

// isReset reports whether err says, as over TCP, that the peer is gone.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
