package extsock

import (
	"errors"
	"net"

	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// This file makes rsocket an engine. It is inProcess with another byte stream and without verbs,
// which the peer cannot use.

func (s *rsocket) IsByteStream() bool { return true }

func (s *rsocket) read(p []byte, _ *rdmap.Completion) (int, error) {
	n, err := s.readStream(p, &s.c.readDeadline)
	return n, s.c.readError(err)
}

func (s *rsocket) write(p []byte) (int, error) {
	n, err := s.writeStream(p, &s.c.writeDeadline)
	return n, s.c.writeError(err)
}

func (s *rsocket) rawRead(_ rawConn, f func(fd uintptr) (done bool)) error {
	return s.c.lookDDP(s.look, f)
}

func (s *rsocket) closeRead() error {
	if s.c.isClosed() {
		return s.c.opError("close", net.ErrClosed)
	}
	return s.c.opError("close", errors.ErrUnsupported)
}

func (s *rsocket) closeWrite() error {
	if s.c.isClosed() {
		return s.c.opError("close", net.ErrClosed)
	}
	s.endWrite()
	return nil
}

func (s *rsocket) awaitEnd(*wait.Deadline) error { return errRSockets }

// deadlineSet interrupts for either deadline: a Write may receive.
func (s *rsocket) deadlineSet(*wait.Deadline) { s.Interrupt() }

func (s *rsocket) mayPost(*rdmap.WorkRequest) error { return errRSockets }

func (s *rsocket) Post(*rdmap.WorkRequest) error { return errRSockets }

func (s *rsocket) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	return s.Driver.PostBatch(wrs, s.mayPost)
}

func (s *rsocket) do(rdmap.WorkRequest, *wait.Deadline, <-chan struct{}) (rdmap.Completion, error) {
	return rdmap.Completion{}, errRSockets
}

func (s *rsocket) close(abort bool) error { return s.inProcess.close(abort || s.closeStream()) }

func (s *rsocket) describe(t *observe.Trace) {
	t.Info("rsockets", "send_credits", int(s.peer.Credits), "send_size", int64(s.peer.Buffer.Len),
		"recv_credits", rsocketCredits, "recv_size", s.c.cfg.recvSize())
}
