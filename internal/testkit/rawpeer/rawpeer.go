// Package rawpeer is for tests that act as a peer over a plain connection, to send what a Conn
// would never send.
package rawpeer

import (
	"bytes"
	"io"

	"github.com/rddp/rddp/mpa"
)

// ReadFrame reads one startup frame from r, and no more bytes.
func ReadFrame(r io.Reader) (mpa.Frame, error) {
	b := make([]byte, mpa.FrameHeaderLen)
	if _, err := io.ReadFull(r, b); err != nil {
		return mpa.Frame{}, err
	}
	n, err := mpa.FrameLen(b)
	if err != nil {
		return mpa.Frame{}, err
	}
	b = append(b, make([]byte, n-len(b))...)
	if _, err := io.ReadFull(r, b[mpa.FrameHeaderLen:]); err != nil {
		return mpa.Frame{}, err
	}
	return mpa.ParseFrame(b)
}

// Start is the Initiator's part of startup: it sends the Request and returns the Reply.
func Start(c io.ReadWriter, request mpa.Frame) (reply mpa.Frame, err error) {
	if _, err := c.Write(request.AppendTo(nil)); err != nil {
		return reply, err
	}
	return ReadFrame(c)
}

// FPDUs returns the ULPDUs as the next FPDUs of tx.
func FPDUs(tx *mpa.Sender, ulpdus ...[]byte) (stream []byte) {
	batch := mpa.NewBatch(mpa.MinBuffer)
	for _, u := range ulpdus {
		tx.Append(batch, true, u)
		stream = append(stream, bytes.Join(batch.Bufs(), nil)...)
		batch.Reset()
	}
	return stream
}

// NewReceiver returns a Receiver with a buffer of 1 MiB.
func NewReceiver(a mpa.Agreement) *mpa.Receiver {
	rx := mpa.NewReceiver(a)
	rx.SetBuffer(make([]byte, 1<<20))
	return rx
}
