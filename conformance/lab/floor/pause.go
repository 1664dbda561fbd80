package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

const shortMessage = 64

// What an echo over rddp touches at each end, and one over plain TCP does not: docs/performance.md,
// "What bounds an echo after a pause".
const (
	morePages = 68
	moreLines = 500
)

// A path is memory that stands for the code and the data of one end: cache lines on as many pages
// as rddp touches there.
type path struct {
	mem   []byte
	lines []int // where they are in mem
	chain bool  // each line says where the next one is, so the CPU fetches them one by one
}

const pageLen = 4 << 10

func newPath(pages int, l load) *path {
	p := &path{mem: make([]byte, pages*pageLen), chain: l.Chain}
	for k, page := range rand.Perm(pages) { // page by page, as code goes
		n := l.Lines*(k+1)/pages - l.Lines*k/pages
		for _, i := range rand.Perm(pageLen / cacheLine)[:n] {
			p.lines = append(p.lines, page*pageLen+i*cacheLine)
		}
	}
	for k, at := range p.lines {
		binary.NativeEndian.PutUint32(p.mem[at:], uint32(p.lines[(k+1)%len(p.lines)]))
	}
	return p
}

// walk changes a byte in each line.
func (p *path) walk() {
	if !p.chain { // also without lines
		for _, at := range p.lines {
			p.mem[at+4]++
		}
		return
	}
	at := p.lines[0]
	for range p.lines {
		p.mem[at+4]++
		at = int(binary.NativeEndian.Uint32(p.mem[at:]))
	}
}

// A sparse is a connection on which messages are echoed after pauses, with both ends in this
// process.
type sparse struct {
	c    net.Conn
	p    *path
	took []float64 // µs
}

func newSparse(pages int, load load) (*sparse, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			answer(c, shortMessage, newPath(pages, load).walk)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	return &sparse{c: c, p: newPath(pages, load)}, nil
}

// echo has one message echoed, and keeps the time that it took.
func (s *sparse) echo(b []byte) error {
	begin := time.Now()
	s.p.walk()
	if _, err := s.c.Write(b); err != nil {
		return err
	}
	if _, err := io.ReadFull(s.c, b); err != nil {
		return err
	}
	s.took = append(s.took, float64(time.Since(begin))/1e3)
	return nil
}

// measurePauses prints the table of echoes after pauses. The kinds of connections take turns.
func measurePauses(echoes int) error {
	fmt.Printf("\n| pause | plain, µs | together | one by one |\n| --- | --- | --- | --- |\n")
	for _, pause := range []time.Duration{200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		var all []*sparse
		for _, l := range []load{{}, {Lines: moreLines}, {Lines: moreLines, Chain: true}} {
			s, err := newSparse(morePages, l)
			if err != nil {
				return err
			}
			defer s.c.Close()
			all = append(all, s)
		}
		b := make([]byte, shortMessage)
		for range echoes {
			for _, s := range all {
				time.Sleep(pause)
				if err := s.echo(b); err != nil {
					return err
				}
			}
		}
		plain := median(all[0].took)
		fmt.Printf("| %v | %.1f | %.2f | %.2f |\n", pause, plain, median(all[1].took)/plain, median(all[2].took)/plain)
	}
	return nil
}
