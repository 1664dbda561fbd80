package extsock

import (
	"context"
	"fmt"
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// RemoteMemory is a peer's registered memory, for one-sided operations: the peer's program takes no part
// in them. Offsets are in octets from the start of the memory.
//
// The methods block until the operation is complete, until the Conn's read or write deadline, or until
// ctx is done, for those that have a ctx. The error is then os.ErrDeadlineExceeded or ctx.Err(). They may
// be called from any goroutine, many at once.
type RemoteMemory struct {
	c *Conn
	h rdmap.Handle
}

var (
	_ io.ReaderAt = (*RemoteMemory)(nil)
	_ io.WriterAt = (*RemoteMemory)(nil)
)

// Remote returns the peer's memory that h names. It does not ask the peer: a Handle that is not valid
// fails the first operation, and ends the connection.
func (c *Conn) Remote(h rdmap.Handle) *RemoteMemory { return &RemoteMemory{c: c, h: h} }

// ReadAt is Read without a context.
func (m *RemoteMemory) ReadAt(p []byte, off int64) (int, error) {
	return m.Read(context.Background(), p, off)
}

// WriteAt is Write without a context.
func (m *RemoteMemory) WriteAt(p []byte, off int64) (int, error) {
	return m.Write(context.Background(), p, off)
}

// Read reads len(p) octets from offset off with one RDMA Read. At the end of the memory Read returns the
// octets that are there and io.EOF, as an io.ReaderAt does. The Conn's read deadline bounds it. A call
// that ends early leaves the connection usable, and does not change p after it has returned.
func (m *RemoteMemory) Read(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, m.c.opError("read", errRange)
	}
	var end error
	if rest := m.len() - off; int64(len(p)) > rest {
		if rest <= 0 {
			return 0, io.EOF
		}
		p, end = p[:rest], io.EOF
	}
	h, err := m.h.Slice(off, len(p))
	if err != nil {
		return 0, m.c.opError("read", err)
	}
	wr := rdmap.WorkRequest{Op: rdmap.WorkRead, Data: p, Remote: h}
	if _, err := m.do(ctx, "read", &wr, &m.c.readDeadline); err != nil {
		return 0, err
	}
	return len(p), end
}

// Write writes p at offset off with one RDMA Write and returns when TCP has taken all of it. The peer's
// memory has it by the time at which the peer answers a later message, or a later Read returns. The
// Conn's write deadline bounds it. When a call ends early and some of p is on its way already, all of p
// goes out from a copy. If that would be more than 4 MiB, the connection ends.
func (m *RemoteMemory) Write(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 || int64(len(p)) > m.len()-off {
		return 0, m.c.opError("write", fmt.Errorf("%w: %d octets at %d of %d", errRange, len(p), off, m.len()))
	}
	h, err := m.h.Slice(off, len(p))
	if err != nil {
		return 0, m.c.opError("write", err)
	}
	wr := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: p, Remote: h}
	if _, err := m.do(ctx, "write", &wr, &m.c.writeDeadline); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FetchAdd adds delta to the 64-bit word at off and returns the value that the word had before. The
// word's address at the peer must be a multiple of 8. Otherwise the error of this and the other atomics
// is ddp.ErrMisaligned. The Conn's write deadline bounds them.
func (m *RemoteMemory) FetchAdd(ctx context.Context, off int64, delta uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: delta}, off)
}

// CompareAndSwap replaces the 64-bit word at off by new if the word is old. It returns the value that the
// word had before, so the word was replaced if that is old.
func (m *RemoteMemory) CompareAndSwap(ctx context.Context, off int64, old, new uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Compare: old, Operand: new}, off)
}

// Swap replaces the 64-bit word at off by new and returns the value that the word had before.
func (m *RemoteMemory) Swap(ctx context.Context, off int64, new uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: new}, off)
}

func (m *RemoteMemory) len() int64 { return int64(m.h.Len) }

func (m *RemoteMemory) atomic(ctx context.Context, wr rdmap.WorkRequest, off int64) (uint64, error) {
	if off < 0 || off > m.len()-8 {
		return 0, m.c.opError("atomic", errRange)
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
	done, err := m.do(ctx, "atomic", &wr, &m.c.writeDeadline)
	return done.Original, err
}

// do runs one operation until ctx is done or the deadline has passed.
func (m *RemoteMemory) do(ctx context.Context, op string, wr *rdmap.WorkRequest, d *deadline) (rdmap.Completion, error) {
	if _, err := m.c.inDDP(); err != nil {
		return rdmap.Completion{}, m.c.opError(op, err)
	}
	done, err := m.c.do(wr, d.done(), ctx.Done())
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
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
