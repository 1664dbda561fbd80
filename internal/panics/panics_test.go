package panics

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	defer Forget()
	if err := Guard(func() error { return io.EOF }); !errors.Is(err, io.EOF) || Count() != 0 {
		t.Errorf("without a panic: %v, and %d counted", err, Count())
	}
	err := Guard(func() error { panic("a bug") })
	e := (*Error)(nil)
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "panic: a bug\n") || !strings.Contains(err.Error(), "TestGuard") {
		t.Fatalf("the error is %v", err)
	}
	if Count() != 1 {
		t.Errorf("%d panics are counted, want 1", Count())
	}
	if !e.Claim() || e.Claim() || Count() != 0 {
		t.Errorf("a claim leaves %d panics", Count())
	}
}
