package mpa

import (
	"errors"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

var unhex = prototest.Unhex

// counting returns n bytes that count up from from.
func counting(from, n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(from + k)
	}
	return b
}

// wantCode checks that err is an *Error with this code.
func wantCode(t *testing.T, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error is %v, want code %d", err, code)
		return &Error{}
	}
	return e
}

// wantPanic runs f, which must panic with "BUG: …".
func wantPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "BUG: ") {
			t.Errorf("no panic that begins with BUG: %q", s)
		}
	}()
	f()
}

// parseFrame parses the frame b for an end that expects a Reply, or a Request if reply is false.
func parseFrame(b []byte, reply bool) (Frame, error) {
	f, err := ParseFrame(b)
	if err == nil {
		err = f.checkRole(reply)
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}
