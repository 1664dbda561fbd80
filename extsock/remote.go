package extsock

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// A RemoteMemory is registered memory of the peer, for one-sided operations: the peer's program
// takes no part in them. Offsets and lengths are in bytes, and offset 0 is the start of the memory.
//
// The methods wait until the operation is complete, until the Conn's read or write deadline passes,
// or until ctx is done. The error is then os.ErrDeadlineExceeded or ctx.Err(). All methods may be
// called from any goroutine, and many calls may run at once. Conn.Remote makes a RemoteMemory. The
// methods of the zero value return syscall.EINVAL.
type RemoteMemory struct {
	c *Conn
	h rdmap.Handle
}

var (
	_ io.ReaderAt = (*RemoteMemory)(nil)
	_ io.WriterAt = (*RemoteMemory)(nil)
)

// Remote returns the peer's memory that h names. It does not ask the peer. If h is not valid, the
// first operation fails and the connection ends.
func (c *Conn) Remote(h rdmap.Handle) *RemoteMemory { return &RemoteMemory{c: c, h: h} }

// ReadAt is Read without a context. It implements io.ReaderAt.
func (m *RemoteMemory) ReadAt(p []byte, off int64) (int, error) {
	return m.Read(context.Background(), p, off)
}

// WriteAt is Write without a context. It implements io.WriterAt.
func (m *RemoteMemory) WriteAt(p []byte, off int64) (int, error) {
	return m.Write(context.Background(), p, off)
}

// Read reads len(p) bytes at offset off into p, with one RDMA Read. If the memory ends before p is
// full, Read returns the bytes up to the end and io.EOF, as io.ReaderAt requires. A negative off
// gives syscall.EINVAL. The Conn's read deadline bounds the call. If the call returns early, the
// connection remains usable, and the answer does not change p.
func (m *RemoteMemory) Read(ctx context.Context, p []byte, off int64) (int, error) {
	if !m.c.ok() {
		return 0, syscall.EINVAL
	}
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

// Write writes p at offset off with one RDMA Write, and returns when TCP has taken all of it. It
// does not keep p after it returns. If p does not fit into the memory at off, the error is
// syscall.EINVAL and nothing is written.
//
// The bytes are certainly in the peer's memory once the peer has answered a later message, or once
// a later Read has returned. The Conn's write deadline bounds the call. If the call returns early
// after p has begun to go out, the rest of p is sent from a copy. If that copy would be longer than
// 4 MiB, the connection ends.
func (m *RemoteMemory) Write(ctx context.Context, p []byte, off int64) (int, error) {
	if !m.c.ok() {
		return 0, syscall.EINVAL
	}
	if off < 0 || int64(len(p)) > m.len()-off {
		return 0, m.c.opError("write", fmt.Errorf("%w: %d bytes at offset %d of %d", errRange, len(p), off, m.len()))
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

// FetchAdd adds delta to the 64-bit word at offset off and returns the value that the word had
// before. The word's address at the peer must be a multiple of 8, or the error is
// ddp.ErrMisaligned. An off outside the memory gives syscall.EINVAL. The Conn's write deadline
// bounds the call. All this is true for CompareAndSwap too. [Conn.Post] has all atomics of RFC
// 7306, with their masks.
func (m *RemoteMemory) FetchAdd(ctx context.Context, off int64, delta uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: delta}, off)
}

// CompareAndSwap sets the 64-bit word at offset off to new if the word is equal to old. It returns
// the value that the word had before; the word was replaced if that value is old.
func (m *RemoteMemory) CompareAndSwap(ctx context.Context, off int64, old, new uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Compare: old, Operand: new}, off)
}

func (m *RemoteMemory) len() int64 { return int64(m.h.Len) }

func (m *RemoteMemory) atomic(ctx context.Context, wr rdmap.WorkRequest, off int64) (uint64, error) {
	if !m.c.ok() {
		return 0, syscall.EINVAL
	}
	if off < 0 || off > m.len()-8 {
		return 0, m.c.opError("atomic", errRange)
	}
	// A misaligned word would end the connection (RFC 7306 §5.1). The TO is congruent to the peer's
	// address modulo 8, at least if the peer is rddp.
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

// do runs one operation. It returns early when ctx is done or d has passed.
func (m *RemoteMemory) do(ctx context.Context, op string, wr *rdmap.WorkRequest, d *wait.Deadline) (rdmap.Completion, error) {
	e, err := m.c.inDDP()
	if err != nil {
		return rdmap.Completion{}, m.c.opError(op, err)
	}
	done, err := e.do(*wr, d, ctx.Done())
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return done, m.c.opError(op, unexpectedEOF(err))
}

// unexpectedEOF distinguishes the peer's close from the end of the memory.
func unexpectedEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // as Driver.Do returns it
		return io.ErrUnexpectedEOF
	}
	return err
}
