package extsock

import (
	"context"
	"fmt"
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// RemoteMemory is a peer's registered memory, as one-sided reads and writes see it. Its methods block
// until the operation is complete, until the Conn's read or write deadline, or until its context is
// done. They may be called from any goroutine, many at once.
type RemoteMemory struct {
	c   *Conn
	h   rdmap.Handle
	ctx context.Context
}

var (
	_ io.ReaderAt = (*RemoteMemory)(nil)
	_ io.WriterAt = (*RemoteMemory)(nil)
)

// Remote gives the peer's memory that h stands for.
func (c *Conn) Remote(h rdmap.Handle) *RemoteMemory {
	return &RemoteMemory{c: c, h: h, ctx: context.Background()}
}

// WithContext gives the same memory with calls that end when ctx is done.
func (m *RemoteMemory) WithContext(ctx context.Context) *RemoteMemory {
	return &RemoteMemory{c: m.c, h: m.h, ctx: ctx}
}

// Len returns the length of the memory in octets.
func (m *RemoteMemory) Len() int64 { return int64(m.h.Len) }

// ReadAt reads len(p) octets from offset off with one RDMA Read. At the end of the memory it reads
// what there is and returns io.EOF, as io.ReaderAt asks. A call that ends early leaves the connection
// usable and p untouched from then on.
func (m *RemoteMemory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, m.c.opError("read", ErrRange)
	}
	var end error
	if rest := m.Len() - off; int64(len(p)) > rest {
		if rest <= 0 {
			return 0, io.EOF
		}
		p, end = p[:rest], io.EOF
	}
	h, err := m.h.Slice(off, len(p))
	if err != nil {
		return 0, m.c.opError("read", err)
	}
	if _, err := m.do("read", &rdmap.WorkRequest{Op: rdmap.WorkRead, Data: p, Remote: h}, &m.c.readDeadline); err != nil {
		return 0, err
	}
	return len(p), end
}

// WriteAt writes p at offset off with one RDMA Write and returns when TCP has taken all of it. That
// it has been placed is known by whatever the peer answers to a later message, or a later Read. When it ends
// early with octets on their way, p goes out nevertheless, from a copy; if that would be more than 4 MiB the connection ends.
func (m *RemoteMemory) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || int64(len(p)) > m.Len()-off {
		return 0, m.c.opError("write", fmt.Errorf("%w: %d octets at %d of %d", ErrRange, len(p), off, m.Len()))
	}
	h, err := m.h.Slice(off, len(p))
	if err != nil {
		return 0, m.c.opError("write", err)
	}
	if _, err := m.do("write", &rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: p, Remote: h}, &m.c.writeDeadline); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FetchAdd adds delta to the 64-bit word at off and returns its value from before. The word's address at
// the peer must be a multiple of 8, else the error of this and the other atomics is ddp.ErrMisaligned.
func (m *RemoteMemory) FetchAdd(off int64, delta uint64) (uint64, error) {
	return m.atomic(rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: delta}, off)
}

// CompareAndSwap replaces the 64-bit word at off by new if it is old, and returns its value from
// before: the swap was done if that is old.
func (m *RemoteMemory) CompareAndSwap(off int64, old, new uint64) (uint64, error) {
	return m.atomic(rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Compare: old, Operand: new}, off)
}

// Swap replaces the 64-bit word at off by new and returns its value from before.
func (m *RemoteMemory) Swap(off int64, new uint64) (uint64, error) {
	return m.atomic(rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: new}, off)
}

func (m *RemoteMemory) atomic(wr rdmap.WorkRequest, off int64) (uint64, error) {
	if off < 0 || off > m.Len()-8 {
		return 0, m.c.opError("atomic", ErrRange)
	}
	// The TO is congruent to the peer's address modulo 8, at least if the peer is rddp; a misaligned
	// word would end the connection (RFC 7306 §5.1).
	if (m.h.TO+uint64(off))%8 != 0 {
		return 0, m.c.opError("atomic", ddp.ErrMisaligned)
	}
	h, err := m.h.Slice(off, 8)
	if err != nil {
		return 0, m.c.opError("atomic", err)
	}
	wr.Remote = h
	done, err := m.do("atomic", &wr, &m.c.writeDeadline)
	return done.Original, err
}

// do runs one operation under the context and the deadline.
func (m *RemoteMemory) do(op string, wr *rdmap.WorkRequest, d *deadline) (rdmap.Completion, error) {
	if _, err := m.c.inDDP(); err != nil {
		return rdmap.Completion{}, m.c.opError(op, err)
	}
	over := d.done()
	if m.ctx.Done() == nil {
		done, err := m.c.do(wr, over)
		return done, m.c.opError(op, unexpectedEOF(err))
	}
	ctx, cancel := context.WithCancelCause(m.ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-over:
			cancel(errDeadline)
		case <-ctx.Done():
		}
	}()
	done, err := m.c.do(wr, ctx.Done())
	if err != nil && m.ctx.Err() != nil {
		err = m.ctx.Err()
	}
	return done, m.c.opError(op, unexpectedEOF(err))
}

// unexpectedEOF keeps the peer's close apart from the end of the memory.
func unexpectedEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // as ended returns it
		return io.ErrUnexpectedEOF
	}
	return err
}
