package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

const (
	chunk = 1 << 20 // bytes of one RDMA Write or Read
	depth = 16      // maximum outstanding RDMA Writes or Reads
)

var errServer = errors.New("the server process has ended the connection; what it says is above")

// A session is the client's end of one connection.
type session struct {
	c       *extsock.Conn
	message []byte
}

func dial(ctx context.Context, address string, cfg extsock.Config) (*session, error) {
	cfg.Messages = true
	c, err := (&extsock.Dialer{Config: &cfg}).DialDDP(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &session{c: c, message: make([]byte, 64<<10)}, nil
}

// ask sends one message and returns the answer, which is valid until the next ask.
func (s *session) ask(verb string, arg ...byte) ([]byte, error) {
	s.c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := s.c.Write(appendMessage(nil, verb, arg)); err != nil {
		return nil, err
	}
	n, err := s.c.Read(s.message)
	if errors.Is(err, io.EOF) {
		err = errServer
	}
	return s.message[:n], err
}

// askHandle is ask for an answer that is a handle.
func (s *session) askHandle(verb string, arg ...byte) (rdmap.Handle, error) {
	answer, err := s.ask(verb, arg...)
	if err != nil {
		return rdmap.Handle{}, err
	}
	h, _, err := rdmap.ParseHandle(answer)
	return h, err
}

// offer makes the server register n bytes.
func (s *session) offer(n int) (rdmap.Handle, error) {
	return s.askHandle(verbOffer, binary.BigEndian.AppendUint64(nil, uint64(n))...)
}

// move transfers all of p to or from the server's memory h, in chunks, depth of them at a time. It
// returns when the last chunk has completed.
func (s *session) move(ctx context.Context, op rdmap.WorkOp, h rdmap.Handle, p []byte, progress func(n int)) error {
	var done [depth]rdmap.Completion
	for sent, completed := 0, 0; completed < len(p); {
		for sent < len(p) && sent-completed < depth*chunk {
			n := min(chunk, len(p)-sent)
			at, err := h.Slice(int64(sent), n)
			if err != nil {
				return err
			}
			if err := s.c.Post(&rdmap.WorkRequest{ID: uint64(n), Op: op, Data: p[sent : sent+n], Remote: at}); err != nil {
				return err
			}
			sent += n
		}
		first, err := s.c.SendCQ().Wait(ctx)
		if err != nil {
			return err
		}
		done[0] = first
		k := 1 + s.c.SendCQ().Poll(done[1:])
		for _, d := range done[:k] {
			if d.Status != rdmap.StatusOK {
				return fmt.Errorf("%v: %w", d.Op, d.Err)
			}
			completed += int(d.ID)
			progress(int(d.ID))
		}
	}
	return nil
}

// verbs exchanges messages and atomics and checks the answers.
func (s *session) verbs(ctx context.Context, messages int) error {
	for i := range messages {
		text := fmt.Sprintf("message %d over RDMA", i)
		answer, err := s.ask(verbEcho, []byte(text)...)
		if err != nil {
			return err
		}
		if string(answer) != text {
			return fmt.Errorf("sent %q, got %q back", text, answer)
		}
	}
	h, err := s.askHandle(verbCounter)
	if err != nil {
		return err
	}
	word := s.c.Remote(h)
	s.c.SetDeadline(time.Now().Add(time.Minute))
	if old, err := word.FetchAdd(ctx, 0, 42); err != nil || old != 0 {
		return errors.Join(err, fmt.Errorf("FetchAdd on a new word gave %d", old))
	}
	if old, err := word.CompareAndSwap(ctx, 0, 42, 7); err != nil || old != 42 {
		return errors.Join(err, fmt.Errorf("CmpSwap of 42 gave %d", old))
	}
	if old, err := word.FetchAdd(ctx, 0, 0); err != nil || old != 7 {
		return errors.Join(err, fmt.Errorf("the word is %d, not 7", old))
	}
	return nil
}

// transfer moves p to the server by RDMA Write, lets the server store it in a file, and moves it
// back by RDMA Read. It returns the time of each direction.
func (s *session) transfer(ctx context.Context, p []byte, progress func(n int)) (write, read time.Duration, err error) {
	h, err := s.offer(len(p))
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := s.move(ctx, rdmap.WorkWrite, h, p, progress); err != nil {
		return 0, 0, err
	}
	// A Write completes when TCP has accepted the data. The answer to a later message, here an
	// echo, shows that all data has been placed. So the time does not include hashing and storing.
	if _, err := s.ask(verbEcho, []byte("all of it")...); err != nil {
		return 0, 0, err
	}
	write = time.Since(begin)
	sum := sha256.Sum256(p)
	theirs, err := s.ask(verbStored)
	if err != nil {
		return 0, 0, err
	}
	if !bytes.Equal(theirs, sum[:]) {
		return 0, 0, fmt.Errorf("SHA-256 after RDMA Write is %x, not %x", theirs, sum)
	}
	back := make([]byte, len(p))
	touch(back)
	begin = time.Now()
	if err := s.move(ctx, rdmap.WorkRead, h, back, progress); err != nil {
		return 0, 0, err
	}
	read = time.Since(begin)
	if got := sha256.Sum256(back); got != sum {
		return 0, 0, fmt.Errorf("SHA-256 after RDMA Read is %x, not %x", got, sum)
	}
	return write, read, nil
}

// touch makes the kernel allocate the pages of p now, so that no measured time includes the
// allocation.
func touch(p []byte) {
	for i := 0; i < len(p); i += 4096 {
		p[i] = 0
	}
}

// plainTCP moves p to the server and back by plain TCP, and returns the time of each direction.
func plainTCP(ctx context.Context, address string, p []byte) (write, read time.Duration, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	back := make([]byte, len(p))
	touch(back)
	if _, err := c.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p)))); err != nil {
		return 0, 0, err
	}
	if _, err := io.ReadFull(c, back[:1]); err != nil { // the server has allocated the memory
		return 0, 0, err
	}
	begin := time.Now()
	if err := writeChunks(c, p); err != nil {
		return 0, 0, err
	}
	if _, err := io.ReadFull(c, back[:1]); err != nil {
		return 0, 0, err
	}
	write = time.Since(begin)
	begin = time.Now()
	if _, err := io.ReadFull(c, back); err != nil {
		return 0, 0, err
	}
	read = time.Since(begin)
	if !bytes.Equal(back, p) {
		return 0, 0, errors.New("plain TCP brought back other bytes")
	}
	return write, read, nil
}
