package dissect

import (
	"errors"
	"fmt"
)

// The ways in which a capture file can be unusable. Read returns them inside a *FileError.
var (
	ErrNotCapture = errors.New("neither a pcap nor a pcapng file")
	ErrTruncated  = errors.New("the file ends inside a block or packet")
	ErrMalformed  = errors.New("malformed capture file")
	ErrLinkType   = errors.New("unknown link type")
)

// FileError means that a capture file could not be read to its end. The packets before that point
// have been decoded.
type FileError struct {
	Packet int   // packets read before the error
	Err    error // one of the errors above, with details, or the reader's own error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("capture file, after %d packets: %v", e.Packet, e.Err)
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }
