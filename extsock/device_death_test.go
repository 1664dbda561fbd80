package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A mortalSession is a session of two ends with bytes each way and one-sided operations. The device
// of one end may die in each of its calls.
type mortalSession struct {
	t      *testing.T
	memory *extsock.Memory // of the end that accepts
	data   []byte          // which the end that dials writes, and gets back

	mu   sync.Mutex
	errs []error // of all calls
}

// note keeps an error, and reports whether there is none.
func (s *mortalSession) note(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err == nil
}

func (s *mortalSession) run(accepts, dials extsock.Config) {
	l, err := extsock.Listen("tcp", "here:1", &accepts)
	if !s.note(err) {
		return
	}
	if s.memory, err = extsock.NewMemory(accepts.Backend, 8192, ddp.RemoteRead|ddp.RemoteWrite); !s.note(err) {
		s.note(l.Close())
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		if c, err := l.AcceptDDP(); s.note(err) {
			s.accepted(c)
		}
	})
	c, err := extsock.Dial("tcp", "here:1", &dials)
	if !s.note(err) {
		s.note(l.Close())
	} else {
		s.dialed(c, dials.Backend)
	}
	all.Wait()
	_ = l.Close() // again, perhaps
	if err := l.Wait(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	s.note(s.memory.Close())
}

// accepted is the end that accepts: it sends its Handle, and then what it has read, to the end.
func (s *mortalSession) accepted(c *extsock.Conn) {
	defer s.end(c)
	r, err := s.memory.Share(c)
	if !s.note(err) {
		return
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); !s.note(err) {
		return
	}
	got, err := io.ReadAll(c)
	if err == nil && len(got) != len(s.data) || !bytes.HasPrefix(s.data, got) {
		s.t.Errorf("the end that accepts has %d bytes of %d, or other ones, %v", len(got), len(s.data), err)
	}
	if !s.note(err) {
		return
	}
	_, err = c.Write(got)
	s.note(err)
}

// dialed is the end that dials.
func (s *mortalSession) dialed(c *extsock.Conn, own toe.Backend) {
	defer s.end(c)
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); !s.note(err) {
		return
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		s.t.Error(err)
		return
	}
	remote := c.Remote(h)
	for at := 0; at < 4; at++ {
		piece := bytes.Repeat([]byte{byte(at + 1)}, 1024)
		if _, err := remote.WriteAt(piece, int64(at)*1024); !s.note(err) {
			s.partly(at)
			return
		}
		got := make([]byte, 1024)
		if _, err := remote.ReadAt(got, int64(at)*1024); !s.note(err) {
			return
		}
		if !bytes.Equal(got, piece) || s.memory.Bytes()[at*1024] != byte(at+1) {
			s.t.Errorf("piece %d of the memory is not what was written", at)
		}
	}
	if !s.posts(c, h, own) {
		return
	}
	for at := 0; at < len(s.data); at += 5000 {
		if _, err := c.Write(s.data[at:min(at+5000, len(s.data))]); !s.note(err) {
			return
		}
	}
	if !s.note(c.CloseWrite()) {
		return
	}
	got, err := io.ReadAll(c)
	if err == nil && len(got) != len(s.data) || !bytes.HasPrefix(s.data, got) {
		s.t.Errorf("the end that dials got %d bytes of %d back, or other ones, %v", len(got), len(s.data), err)
	}
	s.note(err)
}

// posts posts Work Requests, and checks that each has one Completion, in order, however the device
// ends.
func (s *mortalSession) posts(c *extsock.Conn, h rdmap.Handle, b toe.Backend) bool {
	memory, err := extsock.NewMemory(b, 2048, 0)
	if !s.note(err) {
		return false
	}
	defer func() { s.note(memory.Close()) }()
	piece := memory.Bytes()[:1024]
	for i := range piece {
		piece[i] = 99
	}
	to, err := h.Slice(6144, 1024)
	if err != nil {
		s.t.Error(err)
		return false
	}
	n, posted := c.PostBatch([]rdmap.WorkRequest{
		{ID: 0, Op: rdmap.WorkWrite, Data: piece, Remote: to},
		{ID: 1, Op: rdmap.WorkRead, Data: memory.Bytes()[1024:], Remote: to},
		{ID: 2, Op: rdmap.WorkWrite, Data: piece, Remote: to, Fence: true},
	})
	sound := s.note(posted)
	for i := range n {
		done, err := c.SendCQ().Wait(s.t.Context())
		if err != nil || done.ID != uint64(i) {
			s.t.Errorf("Completion %v, %v, want number %d of %d", done, err, i, n)
		}
		sound = s.note(done.Err) && sound
		if i == 1 && done.Err == nil && !bytes.Equal(memory.Bytes()[1024:], piece) {
			s.t.Error("what was read is not what was written")
		}
	}
	synctest.Wait()
	var more [1]rdmap.Completion
	if c.SendCQ().Poll(more[:]) != 0 {
		s.t.Errorf("one Completion too many: %v", more[0])
	}
	return sound
}

// partly checks a piece whose Write has failed: all of it is there, or nothing.
func (s *mortalSession) partly(at int) {
	m := s.memory.Bytes()[at*1024:]
	if m[0] != m[1023] || m[0] != 0 && m[0] != byte(at+1) || m[1024] != 0 {
		s.t.Errorf("piece %d of the memory is neither what was written nor what was there", at)
	}
}

func (s *mortalSession) end(c *extsock.Conn) {
	s.note(c.Close())
	if err := c.Wait(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		s.t.Errorf("Write after Close = %v", err)
	}
}

// TestDeviceDies: a device dies in each call of a session, of the end that dials or of the one that
// accepts. Every call returns an error that says so: a *DeathError at that end, and an error of a
// lost connection, as over TCP, at the other end. The bytes that have arrived are right, and memory
// is given back.
func TestDeviceDies(t *testing.T) {
	for _, dials := range []bool{true, false} {
		t.Run(map[bool]string{true: "of the end that dials", false: "of the end that accepts"}[dials], func(t *testing.T) {
			eachKind(t, func(t *testing.T, b *devicetest.Backend) {
				for death, calls := 0, 1; death <= calls; death++ {
					m := devicetest.NewMortal(b, death)
					s := &mortalSession{t: t, data: bytes.Repeat([]byte("0123456789abc"), 3000)}
					accepts, dialing := deviceConfig(b), deviceConfig(m)
					if !dials {
						accepts, dialing = dialing, accepts
					}
					s.run(accepts, dialing)
					if death == 0 {
						calls = m.Calls()
						t.Log(calls, "calls")
					}
					for _, err := range s.errs {
						var dead *devicetest.DeathError
						if death == 0 || !errors.As(err, &dead) && !isLost(err) {
							t.Errorf("death in call %d: %v", death, err)
						}
					}
					if n := b.Regions(); n != 0 {
						t.Fatalf("death in call %d: %d regions are left", death, n)
					}
				}
			})
		})
	}
}

// isLost reports whether the error is one that TCP also returns if the peer does not answer, or
// ends.
func isLost(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, net.ErrClosed)
}
