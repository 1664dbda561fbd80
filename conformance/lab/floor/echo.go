package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	message   = 1 << 10
	cacheLine = 64
)

// A load says what each message touches at each end besides plain TCP.
type load struct {
	Lines int
	Chain bool // each line says where the next one is, so the CPU cannot fetch them together
}

// A state is the memory of one connection, and the cache lines of it that each message touches.
type state struct {
	mem   [4][4 << 10]byte // pages
	lines []uint16         // numbers of cache lines
	chain bool
}

const linesOfPage = len(state{}.mem[0]) / cacheLine

func newState(l load) *state {
	s := &state{chain: l.Chain}
	n := len(s.mem) * linesOfPage
	for _, i := range rand.Perm(n)[:min(l.Lines, n)] {
		s.lines = append(s.lines, uint16(i))
	}
	for k, i := range s.lines {
		binary.NativeEndian.PutUint16(s.line(i), s.lines[(k+1)%len(s.lines)])
	}
	return s
}

func (s *state) line(i uint16) []byte {
	k := int(i) % linesOfPage * cacheLine
	return s.mem[int(i)/linesOfPage][k : k+cacheLine]
}

// touch changes a byte in each line.
func (s *state) touch() {
	if !s.chain {
		for _, i := range s.lines {
			s.line(i)[2]++
		}
		return
	}
	if len(s.lines) == 0 {
		return
	}
	i := s.lines[0]
	for range s.lines {
		l := s.line(i)
		l[2]++
		i = binary.NativeEndian.Uint16(l)
	}
}

// answer echoes messages of n bytes until the peer ends the connection. It calls touch before each
// answer.
func answer(c net.Conn, n int, touch func()) {
	defer c.Close()
	for b := make([]byte, n); ; {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		touch()
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// A speed is what round trips on many connections reach.
type speed struct {
	rate float64 // per second
	cpu  float64 // µs of processor time for each, of both ends
}

// echoes returns the speed of conns connections.
func echoes(conns int, l load, d time.Duration) (speed, error) {
	p, err := start(fmt.Sprintf("echo %d %t", l.Lines, l.Chain))
	if err != nil {
		return speed{}, err
	}
	defer p.stop()
	var done atomic.Int64
	var fault atomic.Pointer[error]
	var ending atomic.Bool
	var wg sync.WaitGroup
	var opened []net.Conn // all of them before the first message, beside which opening would take long
	defer func() {
		for _, c := range opened {
			c.Close()
		}
	}()
	defer wg.Wait()
	defer ending.Store(true)
	for range conns {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			return speed{}, err
		}
		opened = append(opened, c)
	}
	for _, c := range opened {
		wg.Go(func() {
			s, b := newState(l), make([]byte, message)
			for !ending.Load() {
				s.touch()
				_, err := c.Write(b)
				if err == nil {
					_, err = io.ReadFull(c, b)
				}
				if err != nil {
					fault.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	time.Sleep(d / 4) // until all of them run
	before, err := p.bothEnds()
	if err != nil {
		return speed{}, err
	}
	begin, n := time.Now(), done.Load()
	time.Sleep(d)
	k := float64(done.Load() - n)
	rate := k / time.Since(begin).Seconds()
	after, err := p.bothEnds()
	if fault := fault.Load(); fault != nil {
		err = *fault
	}
	return speed{rate, (after - before).Seconds() * 1e6 / k}, err
}
