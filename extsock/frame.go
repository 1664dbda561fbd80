package extsock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/rddp/rddp/mpa"
)

// maxPrivateData is the longest Private Data of an enhanced frame: RFC 6581 §9 takes 4 of the 512 bytes.
const maxPrivateData = 508

// This file is how the two frames of MPA startup go out and come in.

func (c *Conn) writeFrame(f mpa.Frame) error {
	b := f.AppendTo(nil)
	c.taps.frame(b, true, true)
	_, err := c.stream.Write(b)
	return err
}

// readFrame reads one startup frame and not an octet more: what follows it is FPDUs.
func (c *Conn) readFrame(reply bool) (mpa.Frame, error) {
	b := make([]byte, mpa.FrameHeaderLen)
	key := mpa.Key(reply)
	n, whole := 0, false
	defer func() { c.taps.frame(b[:n], false, whole) }() // in one piece
	for n < len(b) {
		m, err := c.readStream(b[n:])
		n += m
		// A peer that sends something else is told apart at its first octet, not by a time-out.
		if k := min(n, len(key)); !bytes.Equal(b[:k], key[:k]) {
			if other := mpa.Key(!reply); bytes.Equal(b[:k], other[:k]) {
				return mpa.Frame{}, &mpa.Error{Code: mpa.CodeFrame, Err: mpa.ErrSameRole}
			}
			return mpa.Frame{}, fmt.Errorf("%w: %w", ErrNotMPA, &mpa.Error{Code: mpa.CodeFrame, Reason: fmt.Sprintf("it begins %q", b[:n])})
		}
		if err != nil {
			return mpa.Frame{}, frameError(err, n, reply)
		}
	}
	total, err := mpa.FrameLen(b)
	if err != nil {
		return mpa.Frame{}, err
	}
	b = slices.Grow(b, total-len(b))
	b = b[:total]
	m, err := io.ReadFull(c.stream, b[n:]) // nothing was read ahead of this far
	n += m
	if err != nil {
		return mpa.Frame{}, frameError(err, n, reply)
	}
	whole = true
	return mpa.ParseFrame(b)
}

// frameError says what the end of the stream inside a startup frame, after n octets, means.
func frameError(err error, n int, reply bool) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return err // not the peer's doing; everything else is: a FIN, or a reset where it left octets unread
	}
	if err == io.EOF { //nolint:errorlint // as io.ReadFull has it: inside a frame it is not expected
		err = io.ErrUnexpectedEOF
	}
	missing := ErrNoRequest
	if reply {
		missing = ErrNoReply
	}
	return fmt.Errorf("%w: %w", missing, &mpa.Error{Code: mpa.CodeClosed, Reason: fmt.Sprintf("after %d octets of the frame", n), Err: err})
}
