// Package errtext describes in one line why a connection has failed. The errors of package extsock
// name each layer that they passed, and both addresses. The user of a command needs only the
// innermost reason, and the command prints the peer's address itself.
package errtext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// wsaReset is the Windows error number for ECONNRESET.
const wsaReset syscall.Errno = 10054

// IsReset reports whether err means that the peer, or a host on the way, has reset the TCP
// connection.
func IsReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, wsaReset)
}

// Text returns the reason in err, in one line and without the addresses of this connection. For
// unknown types of errors, it returns the error's own text.
func Text(err error) string {
	rejected, terminated, framing, system := (*mpa.RejectError)(nil), (*rdmap.TerminateError)(nil), (*mpa.Error)(nil), syscall.Errno(0)
	if text := tlshandshake.Words(err); text != "" {
		return text
	}
	switch {
	case errors.As(err, &rejected) && len(rejected.PrivateData) > 0:
		return fmt.Sprintf("the peer rejected the connection and says %q", rejected.PrivateData)
	case rejected != nil:
		return "the peer rejected the connection"
	case errors.As(err, &terminated) && terminated.Remote:
		return "the peer ended the connection with a Terminate: " + terminated.Terminate.Code.String()
	case terminated != nil:
		return "ended the connection with a Terminate: " + oneLine(terminated.Err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, extsock.ErrNotMPA) && errors.As(err, &framing) && framing.Reason != "":
		return extsock.ErrNotMPA.Error() + ": " + framing.Reason
	case errors.Is(err, extsock.ErrNoReply) && IsReset(err):
		return "the peer reset the connection instead of sending an MPA Reply"
	case errors.As(err, &system):
		return system.Error()
	}
	inner := err
	for op := (*net.OpError)(nil); errors.As(inner, &op); {
		inner = op.Err
	}
	if errors.As(inner, &framing) {
		if before, found := strings.CutSuffix(inner.Error(), ": "+framing.Error()); found && framing.Code == mpa.CodeClosed {
			return before // the peer has closed the connection during startup, without sending the frame
		}
	}
	switch {
	case errors.Is(inner, io.ErrUnexpectedEOF):
		return "the peer ended the connection early" // before its protocol allows
	case errors.Is(inner, io.EOF), errors.Is(inner, rdmap.ErrPeerClosed), framing != nil && framing.Graceful:
		return "the peer closed the connection"
	}
	return oneLine(inner)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ": ") }

// A brief is an error whose text is that of Text.
type brief struct{ error }

func (e *brief) Error() string { return Text(e.error) }
func (e *brief) Unwrap() error { return e.error }

// Brief returns an error that wraps err and has the text Text(err). It returns nil for nil.
func Brief(err error) error {
	if err == nil {
		return nil
	}
	return &brief{err}
}
