package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/rdmap"
)

// TestGrantIsBounded: a grant is no longer than 64 MiB, however long the offer and the Read's
// memory are. So what a Read's deadline has to copy, and what the connection holds after it, is
// bounded.
func TestGrantIsBounded(t *testing.T) {
	const longest, length = 64 << 20, 80 << 20
	before := extsock.SetMemoryLimit(1 << 30) // does not shorten it
	defer extsock.SetMemoryLimit(before)
	a, b := kernelStreams(t)
	p, c := rawPairOver(t, a, b, extsock.Config{CloseTimeout: time.Second}, longestRecord(64<<10), nil)
	p.segment(1, 0, true, 0, 0, 0, 0, 'g') // opens the fence
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, length)
	read := make(chan error, 1)
	go func() { _, err := c.Read(memory); read <- err }()
	prototest.Wait(t, "the Read waits", func() bool { return extsock.Waiting(c) })
	p.segment(2, 0, true, 1, 0, 0, 0, 0x40, 0, 0, 0) // an offer of 1 GiB
	u, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := rdmap.ParseHandle(u[18+4:])
	if err != nil || h.Len != longest {
		t.Errorf("the grant is of %d octets, %v, want %d", h.Len, err, longest)
	}
	c.SetReadDeadline(time.Now())
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %v", err)
	}
	p.s.Close()
	c.Close()
}

// TestWriteBeyondAGrant: a Write that is longer than the longest grant goes on with another offer,
// and arrives whole.
func TestWriteBeyondAGrant(t *testing.T) {
	const length = 64<<20 + 1<<20
	s := side{cfg: extsock.Config{Crossover: 64 << 10, CloseTimeout: time.Second}}
	ci, cr := tcpPair(t, s, s)
	want := pattern(length, 3)
	wrote := make(chan error, 1)
	got := make([]byte, length)
	read := make(chan error, 1)
	go func() { _, err := io.ReadFull(cr, got); read <- err }()
	prototest.Wait(t, "the Read waits", func() bool { return extsock.Waiting(cr) })
	go func() { _, err := ci.Write(want); wrote <- err }()
	for _, c := range []chan error{wrote, read} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("not the octets that were written")
	}
	ci.Close()
	cr.Close()
}
