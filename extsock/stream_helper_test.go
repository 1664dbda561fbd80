package extsock_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// tapeLen is the period of the tape in octets: odd and no multiple of any buffer.
const tapeLen = 1<<20 + 7

// tape is a long run of random octets, twice. The octets at any place of a stream identify that
// place.
var tape = sync.OnceValue(func() []byte {
	b := make([]byte, tapeLen, 2*tapeLen)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return append(b, b...)
})

// tapeAt returns the n octets from place pos on, at most tapeLen. The caller must not change them.
func tapeAt(pos, n int) []byte { return tape()[pos%tapeLen:][:n:n] }

// A lengths chooses the lengths of the calls of one end: 1 octet to most.
type lengths struct {
	r    *rand.Rand
	most int
}

func newLengths(seed uint64, most int) *lengths {
	return &lengths{rand.New(rand.NewPCG(seed, 1)), most}
}

// next returns a length. Short lengths, lengths around the limits of messages, and long ones come
// equally often.
func (s *lengths) next() int {
	return 1 + int(s.r.Uint64N(1+s.r.Uint64N(1+s.r.Uint64N(uint64(s.most)))))
}

// writeTape writes total octets of the tape from place pos on.
func writeTape(c *extsock.Conn, pos, total int, s *lengths) error {
	for sent := 0; sent < total; {
		p := tapeAt(pos+sent, min(s.next(), total-sent))
		n, err := c.Write(p)
		if n != len(p) || err != nil {
			return fmt.Errorf("Write of %d octets at %d = %d, %w", len(p), sent, n, err)
		}
		sent += n
	}
	return nil
}

// readTape reads octets until it has total, or to the end if total is negative, and compares them
// with the tape from place pos on. It returns how many have come.
func readTape(c *extsock.Conn, pos, total int, s *lengths) (got int, err error) {
	p := make([]byte, s.most)
	for total < 0 || got < total {
		n, err := c.Read(p[:s.next()])
		if !bytes.Equal(p[:n], tapeAt(pos+got, n)) {
			return got, fmt.Errorf("octets %d to %d are not those that were written", got, got+n)
		}
		got += n
		if err == io.EOF && total < 0 {
			return got, nil
		}
		if err != nil {
			return got, fmt.Errorf("Read at %d = %d, %w", got, n, err)
		}
		if n == 0 {
			return got, fmt.Errorf("Read at %d = 0 and no error", got)
		}
	}
	return got, nil
}

// bounded lets prototest.Watch close the connections if no byte moves on them and none is read, so
// that nothing in the test waits forever. (A deadline would change which goroutine receives.) The
// caller is outside any bubble.
func bounded(t testing.TB, conns ...*extsock.Conn) {
	t.Helper()
	prototest.Watch(t, func() (n uint64) {
		for _, c := range conns {
			s := c.Stats()
			n += s.Sent.Octets + s.Received.Octets + s.CopiedOctets + s.DirectOctets
		}
		return n
	}, func() {
		for _, c := range conns {
			c.Close()
		}
	})
}
