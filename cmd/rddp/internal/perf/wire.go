package perf

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/internal/tlshandshake"
)

// All connections go to one port of the server. Each begins with a hello from the client and an
// answer from the server. Both are frames: a magic number, a length, and a JSON object.
//
//   - The first connection of a session is the control connection. On it, the client tells the
//     server when a run begins and ends, and the server answers with its CPU time.
//   - The other connections are data connections. They carry plain TCP, or switch to DDP mode after
//     the answer. Each run on a data connection begins with a head.

const (
	magic      = 0x52504632 // "RPF2": other versions refuse each other
	maxRequest = 4 << 10    // bytes of a frame of the client
	maxAnswer  = 1 << 20    // bytes of a frame of the server
)

// A hello is the first frame of each connection, sent by the client.
type hello struct {
	Token string // of the session; empty on a control connection

	// On a control connection:
	CPU *int // if not nil: pin the server's process to this CPU, or, if negative, to one of its choice

	// On a data connection:
	Transport transport
	CRC       bool
	Ring      int           // bytes of memory at each end
	RecvSize  int           // bytes of the longest message
	Depth     int           // maximum number of outstanding Work Requests
	ReadData  bool          // the receiving end reads the data
	PollTime  time.Duration // as in extsock.Config
	Timeout   time.Duration // bounds each run
	Reverse   bool          // the server is the active end

	// On both kinds:
	Congestion string
	Buffer     int
}

// A command is a frame on the control connection, sent by the client. At most one of its fields is
// set. If none is, a run has ended.
type command struct {
	Begin    bool     // a run begins
	Open     *opening // open a door, after shutting the open one
	Shut     bool     // shut the door, and close its connections
	Memory   bool     // return the memory of the process
	Collapse bool     // move the heap of the process into huge pages
}

// An answer is a frame that the server sends: to a hello and to each command.
type answer struct {
	Refused   string  // the reason why the server refuses the request, or ""
	Token     string  // of the session, on a control connection
	CPU       cpuTime // of the server during the run
	HasCPU    bool    // the server can measure its processor time
	Files     uint64  // the number of files that the server may open; 0 if unknown
	Address   string  // of the door, after Open
	Memory    *Memory // if asked for
	Histogram []byte  // latencies that the server recorded during the run
}

// send writes v as one frame.
func send(c net.Conn, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, magic)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(body)))
	_, err = c.Write(append(frame, body...))
	return err
}

// receive reads one frame, of at most limit bytes, into v.
func receive(c net.Conn, v any, limit uint32) error {
	var head [8]byte
	at, err := io.ReadFull(c, head[:])
	if other := tlshandshake.Speaks(head[:at]); other != nil {
		return other
	}
	if err != nil {
		return tlshandshake.Explain(err)
	}
	n := binary.BigEndian.Uint32(head[4:])
	if binary.BigEndian.Uint32(head[:]) != magic || n > limit {
		return ErrProtocol
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return noEOF(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// noEOF returns err, but io.ErrUnexpectedEOF instead of io.EOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ask sends a frame and waits for the answer, for at most d.
func ask(c net.Conn, question any, d time.Duration) (a answer, err error) {
	if err := c.SetDeadline(time.Now().Add(d)); err != nil {
		return a, err
	}
	if err := send(c, question); err != nil {
		return a, err
	}
	if err := receive(c, &a, maxAnswer); err != nil {
		return a, noEOF(err)
	}
	if a.Refused != "" {
		return a, &RefusedError{a.Refused}
	}
	return a, c.SetDeadline(time.Time{})
}

// A head begins a run on a data connection. The client sends it, even if the server is the active
// end of the run.
type head struct {
	kind    kind
	batch   bool // PostBatch instead of Post
	latency bool // the active end records the time of each operation
	depth   int
	count   int           // operations
	size    int           // bytes of one operation
	pause   time.Duration // of the active end before each operation
}

const headLen = 32

func (h head) appendTo(b []byte) []byte {
	var flags byte
	if h.batch {
		flags |= 1
	}
	if h.latency {
		flags |= 2
	}
	b = append(b, byte(h.kind), flags, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(h.depth))
	b = binary.BigEndian.AppendUint64(b, uint64(h.count))
	b = binary.BigEndian.AppendUint64(b, uint64(h.size))
	return binary.BigEndian.AppendUint64(b, uint64(h.pause))
}

// maxCount is the maximum number of operations of a run, on each connection.
const maxCount = 1 << 30

func parseHead(b []byte) (h head, err error) {
	if len(b) != headLen {
		return h, fmt.Errorf("%w: a head of %d bytes", ErrProtocol, len(b))
	}
	depth, count, size, pause := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])
	h = head{kind: kind(b[0]), batch: b[1]&1 != 0, latency: b[1]&2 != 0}
	if h.kind < kindBulk || h.kind >= kindEnd || depth < 1 || depth > MaxDepth || count < 1 || count > maxCount || size < 1 || size > MaxSize || pause > uint64(MaxPause) {
		return h, fmt.Errorf("%w: head %x", ErrProtocol, b)
	}
	h.depth, h.count, h.size, h.pause = int(depth), int(count), int(size), time.Duration(pause)
	return h, nil
}
