//go:build interop

// Package wire is the protocol between the harness and the guest's agent. There is one TCP
// connection for each process in the guest. The connection carries frames, each of which has a
// kind, a length and that many bytes.
//
// The harness sends one [Request], then any number of [Stdin] frames, [CloseStdin] and [Signal].
// The agent sends [Stdout] and [Stderr] frames as the process writes, and one [Exit] last. When the
// harness closes the connection, the agent kills the process and everything in its process group.
package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A Kind is the kind of a frame.
type Kind byte

// The kinds of frames.
const (
	Start      Kind = iota + 1 // a Request in JSON
	Stdin                      // bytes for the process's standard input
	CloseStdin                 // the end of the standard input
	Signal                     // one byte: the number of a signal for the process group
	Stdout                     // bytes of the process's standard output
	Stderr                     // bytes of the process's standard error
	Exit                       // a Result in JSON: the process has ended
)

// MaxData is the maximum length of one frame's data, in bytes.
const MaxData = 1 << 20

// AgentPort is the guest's TCP port on which its agent listens.
const AgentPort = 1

// A Request describes the process to run. Args[0] is looked up in the guest's PATH.
type Request struct {
	Args []string
}

// A Result says how a process ended: its exit status, 128+n for signal n, or why it could not be
// started.
type Result struct {
	Code int
	Err  string
}

const headerLen = 5

// WriteFrame writes one frame with one Write.
func WriteFrame(w io.Writer, k Kind, data []byte) error {
	b := make([]byte, 0, headerLen+len(data))
	b = append(b, byte(k))
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	_, err := w.Write(append(b, data...))
	return err
}

// ReadFrame reads one frame. The caller owns the data.
func ReadFrame(r io.Reader) (Kind, []byte, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(h[1:])
	if n > MaxData {
		return 0, nil, fmt.Errorf("wire: frame of %d octets", n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, err
	}
	return Kind(h[0]), data, nil
}
