package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/extsock"
)

// A socketPair is two extended sockets with a connection between them, in message mode. One
// goroutine writes a message to one of them and reads it from the other. The time that this takes
// beyond the steps of a Breakdown is that of the driver.
type socketPair struct {
	a, b  *extsock.Conn
	times *hdrhistogram.Histogram
}

func newSocketPair(ctx context.Context, set *settings, j job) (s *socketPair, err error) {
	x, y, err := tcpPair(ctx, set)
	if err != nil {
		return nil, err
	}
	cfg := &extsock.Config{NoCRC: j.crc == off, Messages: true, RecvSize: max(j.size, 64<<10)}
	s = &socketPair{
		a: extsock.NewConn(x, true, cfg), b: extsock.NewConn(y, false, cfg), times: newHistogram(),
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var both sync.WaitGroup
	var other error
	both.Go(func() { other = s.b.EnableDDP(ctx, nil) })
	err = s.a.EnableDDP(ctx, nil)
	both.Wait()
	if err = errors.Join(err, other); err == nil {
		err = s.warm()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// warm sends a message in the other direction once.
func (s *socketPair) warm() error {
	s.setDeadline(time.Now().Add(timeout))
	var p [1]byte
	if _, err := s.b.Write(p[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(s.a, p[:])
	return err
}

func (s *socketPair) setDeadline(t time.Time) {
	s.a.SetDeadline(t)
	s.b.SetDeadline(t)
}

// operate sends the message src, which arrives in dst.
func (s *socketPair) operate(src, dst []byte) error {
	begin := time.Now()
	if _, err := s.a.Write(src); err != nil {
		return err
	}
	if _, err := io.ReadFull(s.b, dst); err != nil {
		return err
	}
	return s.times.RecordValue(min(int64(time.Since(begin)), maxLatency))
}

// close closes both sockets at the same time: each waits for the other one's end.
func (s *socketPair) close() {
	var both sync.WaitGroup
	both.Go(func() { s.a.Close() })
	both.Go(func() { s.b.Close() })
	both.Wait()
}
