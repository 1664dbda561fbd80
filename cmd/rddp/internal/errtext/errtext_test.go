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
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

func TestText(t *testing.T) {
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	wrapped := func(op string, err error) error {
		return fmt.Errorf("copying: %w", &net.OpError{Op: "dial", Net: "tcp", Source: here, Addr: here, Err: &net.OpError{Op: op, Net: "tcp", Addr: here, Err: err}})
	}
	closed := func(err error) error {
		return fmt.Errorf("%w: %w", extsock.ErrNoReply, &mpa.Error{Code: mpa.CodeClosed, Reason: "after 0 bytes of the frame", Err: err})
	}
	tests := []struct {
		desc string
		err  error
		want string
	}{
		{"refused", wrapped("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused"},
		{"reset", wrapped("read", os.NewSyscallError("read", syscall.ECONNRESET)), "connection reset by peer"},
		{"no name", wrapped("dial", &net.DNSError{Err: "no such host", Name: "far", IsNotFound: true}), "lookup far: no such host"},
		{"reset before the Reply", wrapped("dial", closed(wrapped("read", syscall.ECONNRESET))), "the peer reset the connection instead of sending an MPA Reply"},
		{"closed before the Reply", wrapped("dial", closed(io.ErrUnexpectedEOF)), "the peer closed the connection without an MPA Reply"},
		{"another protocol", wrapped("dial", fmt.Errorf("%w: %w", extsock.ErrNotMPA, &mpa.Error{Code: mpa.CodeFrame, Reason: `it begins "220 "`})), `the peer does not speak MPA: what it sent is no MPA frame: it begins "220 "`},
		{"another protocol, seen before startup", wrapped("accept", fmt.Errorf("%w: it begins %q", extsock.ErrNotMPA, "220 ")), `the peer does not speak MPA: what it sent is no MPA frame: it begins "220 "`},
		{"TLS", wrapped("dial", fmt.Errorf("%w: %w", extsock.ErrNotMPA, tlshandshake.ErrTLS)), "the peer speaks TLS, and this end does not"},
		{"context", wrapped("dial", context.DeadlineExceeded), "no answer in time"},
		{"deadline", wrapped("read", os.ErrDeadlineExceeded), "no answer in time"},
		{"rejected", wrapped("dial", &mpa.RejectError{}), "the peer rejected the connection"},
		{"rejected with private data", wrapped("dial", &mpa.RejectError{PrivateData: []byte("no\n")}), `the peer rejected the connection and says "no\n"`},
		{"the peer's Terminate", wrapped("read", &rdmap.TerminateError{Remote: true}), "the peer ended the connection with a Terminate: " + rdmap.Terminate{}.Code.String()},
		{"our Terminate", wrapped("read", &rdmap.TerminateError{Err: errors.New("too long")}), "ended the connection with a Terminate: too long"},
		{"the end", wrapped("read", io.EOF), "the peer closed the connection"},
		{"the end in a message", io.ErrUnexpectedEOF, "the peer ended the connection early"},
		{"two lines", errors.Join(errors.New("one"), errors.New("two")), "one: two"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			got := Brief(tt.err)
			if got.Error() != tt.want {
				t.Errorf("Text(%v) = %q, want %q", tt.err, got, tt.want)
			}
			if !errors.Is(got, tt.err) {
				t.Error("Brief does not wrap the error")
			}
		})
	}
	if err := Brief(nil); err != nil {
		t.Errorf("Brief(nil) = %v", err)
	}
}

// TestTextOfResets: a client's error for a peer that resets at once, or after the MPA Request, is
// one line without the names of system calls and without the address.
func TestTextOfResets(t *testing.T) {
	for _, first := range []int{0, 1} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, first))
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}()
		ctx, cancel := context.WithDeadline(t.Context(), prototest.Deadline(t))
		_, err = new(extsock.Dialer).DialDDP(ctx, "tcp", l.Addr().String())
		cancel()
		l.Close()
		text := ""
		if err != nil {
			text = Text(err)
		}
		if !IsReset(err) || !strings.Contains(text, "reset") || strings.Contains(text, "127.0.0.1") || strings.Count(text, ": ") > 0 {
			t.Errorf("reset after %d bytes: %q for %v", first, text, err)
		}
	}
}
