package extsock_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// TestFallbackErrors: errors.Is finds that a connection is plain TCP, and the one reason for that.
func TestFallbackErrors(t *testing.T) {
	causes := []error{extsock.ErrNoReply, extsock.ErrNotMPA, os.ErrDeadlineExceeded}
	for _, tt := range []struct {
		reason extsock.FallbackReason
		want   error
	}{
		{extsock.FallbackNoReply, extsock.ErrNoReply},
		{extsock.FallbackNotMPA, extsock.ErrNotMPA},
		{extsock.FallbackTimedOut, os.ErrDeadlineExceeded},
		{extsock.FallbackRemembered, nil}, // what was found first is wrapped
		{extsock.FallbackPlainPeer, extsock.ErrNotMPA},
		{extsock.FallbackSniffTimeout, os.ErrDeadlineExceeded},
	} {
		err := fmt.Errorf("outside: %w", &extsock.FallbackError{Reason: tt.reason})
		if !errors.Is(err, extsock.ErrPlainTCP) {
			t.Errorf("%v is not ErrPlainTCP", err)
		}
		for _, cause := range causes {
			if got := errors.Is(err, cause); got != (cause == tt.want) {
				t.Errorf("%v is %v: %t", err, cause, got)
			}
		}
	}
	first := &extsock.FallbackError{Reason: extsock.FallbackNoReply}
	if err := error(&extsock.FallbackError{Reason: extsock.FallbackRemembered, Err: first}); !errors.Is(err, extsock.ErrNoReply) {
		t.Errorf("%v does not wrap what was found first", err)
	} else if !strings.Contains(err.Error(), "a while ago") {
		t.Errorf("%v does not say that it is remembered", err)
	}
}
