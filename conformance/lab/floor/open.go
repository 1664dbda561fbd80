package main

import (
	"io"
	"net"
	"time"
)

// The lengths in bytes of the messages of an MPA startup between two ends of rddp.
const (
	startupFrame = 44 // 20 of the frame, 4 of enhanced connection setup, and a record of 20
	firstFPDU    = 20
)

// answerOpening answers a startup frame, if there is one, and reads the rest.
func answerOpening(c net.Conn) {
	defer c.Close()
	b := make([]byte, startupFrame)
	if _, err := io.ReadFull(c, b); err != nil {
		return
	}
	if _, err := c.Write(b); err != nil {
		return
	}
	io.Copy(io.Discard, c)
}

// openings opens n connections one after another, and returns the seconds for one.
func openings(n int, exchange bool) (float64, error) {
	p, err := start("open")
	if err != nil {
		return 0, err
	}
	defer p.stop()
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	b := make([]byte, startupFrame)
	begin := time.Now()
	for range n {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
		if !exchange {
			continue
		}
		if _, err := c.Write(b); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return 0, err
		}
		if _, err := c.Write(b[:firstFPDU]); err != nil {
			return 0, err
		}
	}
	return time.Since(begin).Seconds() / float64(n), nil
}
