package startup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// MaxPrivateData is the maximum length of the Private Data of an enhanced frame, in bytes: RFC 6581
// §9 takes 4 of the 512 bytes.
const MaxPrivateData = 512 - enhancedLen

const enhancedLen = 4

// writeFrame sends one startup frame.
func (h *Handshake) writeFrame(f *mpa.Frame) error {
	b := f.AppendTo(make([]byte, 0, mpa.FrameHeaderLen+enhancedLen+len(f.PrivateData)))
	if h.cfg.Tap != nil {
		h.cfg.Tap.Sent(b)
	}
	_, err := h.stream.Write(b)
	return err
}

// readFrame reads one startup frame to f, and not a byte more: what follows it is FPDUs.
func (h *Handshake) readFrame(f *mpa.Frame, reply bool) (err error) {
	b := make([]byte, mpa.FrameHeaderLen, mpa.FrameHeaderLen+enhancedLen+capabilityLen) // for the frame of an rddp whose program sends no data
	key := mpa.Key(reply)
	n, whole := 0, false
	defer func() { // the Tap gets the frame in one piece
		if h.cfg.Tap != nil {
			h.cfg.Tap.Received(b[:n], whole)
		}
	}()
	for n < len(b) {
		m, err := h.Read(b[n:])
		n += m
		// A peer that sends something else is recognized by its first byte, not by a time-out.
		if k := min(n, len(key)); !bytes.Equal(b[:k], key[:k]) {
			if other := mpa.Key(!reply); bytes.Equal(b[:k], other[:k]) {
				return &mpa.Error{Code: mpa.CodeFrame, Err: mpa.ErrSameRole}
			}
			e := &mpa.Error{Code: mpa.CodeFrame, Reason: fmt.Sprintf("it begins %q", b[:n]), Err: tlshandshake.Speaks(b[:n])}
			return fmt.Errorf("%w: %w", ErrNotMPA, e)
		}
		if err != nil && n < len(b) { // as io.ReadFull does: an error behind the last byte comes again
			return frameError(err, n, reply)
		}
	}
	total, err := mpa.FrameLen(b)
	if err != nil {
		return err
	}
	b = slices.Grow(b, total-len(b))
	b = b[:total]
	m, err := io.ReadFull(h, b[n:]) // a Look may have read ahead of this far
	n += m
	if err != nil {
		return frameError(err, n, reply)
	}
	whole = true
	*f, err = mpa.ParseFrame(b)
	return err
}

// frameError returns the error of a startup frame of which only n bytes came, because of err.
func frameError(err error, n int, reply bool) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return err // caused by this end; the peer causes all others, by a FIN, or by a reset if it left bytes unread
	}
	if err == io.EOF { //nolint:errorlint // as io.ReadFull does: inside a frame it is not expected
		err = io.ErrUnexpectedEOF
	}
	missing := ErrNoRequest
	if reply {
		missing = ErrNoReply
	}
	return fmt.Errorf("%w: %w", missing, &mpa.Error{Code: mpa.CodeClosed, Reason: fmt.Sprintf("after %d bytes of the frame", n), Err: err})
}
