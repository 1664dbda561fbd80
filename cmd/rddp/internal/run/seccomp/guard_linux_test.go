//go:build amd64 || arm64

package seccomp

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// The status of a program arrives although the guardian ends with a message unread, as it does when
// the program ends sooner than the guardian's other goroutine runs.
func TestStatusOfShortProgram(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, guardian := ends[0], ends[1]
	defer unix.Close(supervisor)
	if err := unix.Send(supervisor, []byte{0}, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Send(guardian, binary.NativeEndian.AppendUint32(nil, 7<<8), 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(guardian)
	if s, err := receiveStatus(supervisor); err != nil || s.ExitStatus() != 7 {
		t.Errorf("status %d, %v, want 7", s.ExitStatus(), err)
	}
	if _, err := receiveStatus(supervisor); !errors.Is(err, errNoGuardian) {
		t.Errorf("after it: %v, want %v", err, errNoGuardian)
	}
}
