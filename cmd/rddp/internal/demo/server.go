package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
)

// The messages between the two ends. The client's messages begin with the verb, padded to 8 octets,
// and the length of the argument (4 octets). They are padded to minMessage, because very short
// Sends confuse Wireshark's RPC-over-RDMA heuristics.
//
//	client: offer    size(8)   the server registers that many octets
//	server:          handle(16)
//	client: stored             the octets have been written: store them in a file
//	server:          sha256(32)
//	client: echo     any       the server returns the same octets
//	client: counter            the server registers a word for atomics
//	server:          handle(16)
const (
	verbOffer   = "offer"
	verbStored  = "stored"
	verbEcho    = "echo"
	verbCounter = "counter"

	verbLen    = 8
	headLen    = verbLen + 4
	minMessage = 64
)

func appendMessage(b []byte, verb string, arg []byte) []byte {
	b = append(b, verb...)
	b = append(b, make([]byte, verbLen-len(verb))...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(arg)))
	b = append(b, arg...)
	return append(b, make([]byte, max(minMessage-len(b), 0))...)
}

func parseMessage(b []byte) (verb string, arg []byte, err error) {
	if len(b) < headLen {
		return "", nil, fmt.Errorf("a message of %d bytes", len(b))
	}
	n := binary.BigEndian.Uint32(b[verbLen:])
	if uint64(n) > uint64(len(b)-headLen) {
		return "", nil, errors.New("a message shorter than its length field says")
	}
	return strings.TrimRight(string(b[:verbLen]), "\x00"), b[headLen : headLen+int(n)], nil
}

// maxOffer is the maximum number of bytes that a client can make the server allocate. A slice on a
// 32-bit system is shorter still.
const maxOffer = min(4<<30-1, math.MaxInt)

// Serve is the server process. It listens on a free port of the loopback interface, prints its two
// addresses (extended sockets, plain TCP) as one line on out, and serves until in ends.
func Serve(in io.Reader, out io.Writer) error {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, Messages: true})
	if err != nil {
		return err
	}
	defer l.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer plain.Close()
	go accept.Each(context.Background(), slog.Default(), l, logged(serveRDMA))
	go accept.Each(context.Background(), slog.Default(), plain, logged(servePlain))
	fmt.Fprintln(out, l.Addr(), plain.Addr())
	_, err = io.Copy(io.Discard, in) // the client keeps the other end open while it runs
	return err
}

// logged returns a function that serves a connection and prints its error.
func logged(serve func(net.Conn) error) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		if err := serve(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) { // Lend closes its device at the end
			fmt.Fprintln(os.Stderr, "rddp demo: server:", err)
		}
	}
}

// serveRDMA answers the messages of one connection.
func serveRDMA(nc net.Conn) error {
	c := nc.(*extsock.Conn)
	var memory []byte
	message := make([]byte, 64<<10)
	for {
		n, err := c.Read(message)
		if err != nil {
			return err
		}
		verb, arg, err := parseMessage(message[:n])
		if err != nil {
			return err
		}
		var answer []byte
		switch verb {
		case verbOffer:
			memory, answer, err = grant(c, arg)
		case verbStored:
			answer, err = store(memory)
		case verbEcho:
			answer = arg
		case verbCounter:
			answer, err = register(c, make([]byte, 8), ddp.RemoteAtomic|ddp.RemoteRead)
		default:
			err = fmt.Errorf("unknown verb %q", verb)
		}
		if err != nil {
			return err
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

// grant registers the memory that an offer requests.
func grant(c *extsock.Conn, arg []byte) (memory, handle []byte, err error) {
	if len(arg) != 8 {
		return nil, nil, errors.New("an offer must have 8 bytes")
	}
	size := binary.BigEndian.Uint64(arg)
	if size == 0 || size > maxOffer {
		return nil, nil, fmt.Errorf("an offer of %d bytes", size)
	}
	memory = make([]byte, size)
	touch(memory)
	handle, err = register(c, memory, ddp.RemoteRead|ddp.RemoteWrite)
	return memory, handle, err
}

func register(c *extsock.Conn, memory []byte, access ddp.Access) ([]byte, error) {
	r, err := c.Register(memory, access)
	if err != nil {
		return nil, err
	}
	return r.Handle().AppendTo(nil), nil
}

// store writes the received bytes to a file, and returns the SHA-256 of what the file has then. The
// file has a random name, because other users may write to the folder, and goes again.
func store(memory []byte) (sum []byte, err error) {
	f, err := os.CreateTemp("", "rddp-demo-")
	if err != nil {
		return nil, fmt.Errorf("the file cannot be stored (TMPDIR): %w", err)
	}
	gone := os.Remove(f.Name()) == nil // now, so that it cannot stay; Windows refuses that for open files
	defer func() {
		err = errors.Join(err, f.Close())
		if !gone {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(memory); err != nil {
		return nil, fmt.Errorf("the file cannot be stored (TMPDIR): %w", err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, math.MaxInt64)); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// servePlain serves the comparison over plain TCP. It reads the size (8 bytes), answers with one
// byte, reads that many bytes, answers with one byte, and sends the bytes back.
func servePlain(c net.Conn) error {
	var size [8]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint64(size[:])
	if n == 0 || n > maxOffer {
		return fmt.Errorf("a plain transfer of %d bytes", n)
	}
	memory := make([]byte, n)
	touch(memory)
	if _, err := c.Write([]byte{1}); err != nil { // the client starts its clock
		return err
	}
	if _, err := io.ReadFull(c, memory); err != nil {
		return err
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	return writeChunks(c, memory)
}

// writeChunks writes p in pieces of the same size as the RDMA Writes.
func writeChunks(w io.Writer, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), chunk)
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
