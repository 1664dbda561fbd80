package main

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
)

// Counters are the versions of all pages. A peer may read them as an array of 64-bit integers in
// the byte order of this machine. A Read of one counter returns a value that the counter had during
// the Read: ReadAt loads it whole, and a device copies an aligned word at once.
type counters []atomic.Uint64

const counterLen = 8

var (
	errAlign    = errors.New("counters are read whole")
	errReadOnly = errors.New("counters are not written by peers")
)

// ReadAt implements io.ReaderAt. The callers check the range.
func (c counters) ReadAt(p []byte, off int64) (int, error) {
	if off%counterLen != 0 || len(p)%counterLen != 0 {
		return 0, errAlign
	}
	for n := 0; n < len(p); n += counterLen {
		binary.NativeEndian.PutUint64(p[n:], c[(int(off)+n)/counterLen].Load())
	}
	return len(p), nil
}

// WriteAt implements io.WriterAt. Peers have no right to write.
func (c counters) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }
