//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// remote makes each end write the other end's memory by RDMA Writes and read it by RDMA Reads, one
// end after the other. The end that owns the memory only compares it.
func remote(p *peer) (string, error) {
	m, err := extsock.NewMemory(p.cfg.Backend, p.n, ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return "", err
	}
	err = withMemory(p, m)
	return fmt.Sprintf("%d bytes written and read, of either end's memory", p.n), errors.Join(err, p.first.Close(), m.Close())
}

func withMemory(p *peer, m *extsock.Memory) error {
	c := p.first
	r, err := m.Share(c)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	do := []func() error{func() error { return writeMemory(c, c.Remote(h), p.n) }, func() error { return compareMemory(c, m) }}
	if !p.dials {
		do[0], do[1] = do[1], do[0]
	}
	for _, f := range do {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// contents returns the final contents of an end's memory.
func contents(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(b) // it never fails
	return b
}

// writeMemory writes the peer's memory in pieces of all lengths, reads it back, and waits until the
// peer has compared it.
func writeMemory(c *extsock.Conn, to *extsock.RemoteMemory, n int) error {
	want, got, pieces := contents(n), make([]byte, n), rand.New(rand.NewPCG(1, 1))
	for _, move := range []func(p []byte, off int64) (int, error){
		func(p []byte, off int64) (int, error) { return to.WriteAt(want[off:][:len(p)], off) },
		to.ReadAt,
	} {
		for at := 0; at < n; {
			k := min(1+pieces.IntN(200_000), n-at)
			if m, err := move(got[at:][:k], int64(at)); m != k || err != nil {
				return fmt.Errorf("%d bytes at %d of the peer's memory: %d, %w", k, at, m, err)
			}
			at += k
		}
	}
	if !bytes.Equal(got, want) {
		return errors.New("the peer's memory has other bytes than those written")
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// compareMemory waits until the peer has written the memory, and compares it.
func compareMemory(c *extsock.Conn, m *extsock.Memory) error {
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		return err
	}
	if !bytes.Equal(m.Bytes(), contents(len(m.Bytes()))) {
		return errors.New("the memory has other bytes than those the peer has written")
	}
	_, err := c.Write([]byte{1})
	return err
}
