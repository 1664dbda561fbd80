package main

import (
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

// A state is the memory of one connection, and the cache lines of it that each message touches.
type state struct {
	mem   [16 << 10]byte
	lines []int
}

func newState(lines int) *state {
	s := new(state)
	for _, i := range rand.Perm(len(s.mem) / cacheLine)[:min(lines, len(s.mem)/cacheLine)] {
		s.lines = append(s.lines, i*cacheLine)
	}
	return s
}

func (s *state) touch() {
	for _, i := range s.lines {
		s.mem[i]++
	}
}

// answer echoes messages until the peer ends the connection.
func answer(c net.Conn, s *state) {
	defer c.Close()
	for b := make([]byte, message); ; {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		s.touch()
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// echoes returns the number of round trips per second on conns connections.
func echoes(conns, lines int, d time.Duration) (float64, error) {
	addr, stop, err := start(fmt.Sprint("echo ", lines))
	if err != nil {
		return 0, err
	}
	defer stop()
	var done atomic.Int64
	var fault atomic.Pointer[error]
	var ending atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer ending.Store(true)
	for range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return 0, err
		}
		wg.Go(func() {
			defer c.Close()
			s, b := newState(lines), make([]byte, message)
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
	begin, n := time.Now(), done.Load()
	time.Sleep(d)
	rate := float64(done.Load()-n) / time.Since(begin).Seconds()
	if err := fault.Load(); err != nil {
		return 0, *err
	}
	return rate, nil
}
