package hostile

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A session is the whole life of a connection, which these tests disturb.
type session struct{ *scenario.Session }

var sessions = func() (list []session) {
	for i := range scenario.Sessions {
		list = append(list, session{&scenario.Sessions[i]})
	}
	return list
}()

// isTyped reports whether a program can identify the cause of err.
func isTyped(err error) bool {
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded,
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED,
		extsock.ErrNoReply, extsock.ErrNotMPA, syscall.EPROTO, extsock.ErrMode, scenario.ErrEarly,
		errInjected, rdmap.ErrNoExtensions, rdmap.ErrNoORD,
		rdmap.ErrClosed, rdmap.ErrPeerClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var (
		m *mpa.Error
		d *ddp.Error
		t *rdmap.TerminateError
		j *mpa.RejectError
	)
	return errors.As(err, &m) || errors.As(err, &d) && d.Code != ddp.CodeULP || errors.As(err, &t) || errors.As(err, &j)
}

// isNever reports whether err must never occur.
func isNever(err error) bool {
	return errors.As(err, new(*scenario.WrongOctets)) || errors.Is(err, scenario.ErrLost)
}
