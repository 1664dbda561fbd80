package user

import (
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListeners checks that a listener is listed while it listens.
func TestListeners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		want := Listener{Port: uint16(l.Addr().(*net.TCPAddr).Port)}
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if e := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); e != nil || err != nil {
			t.Fatal(e, err)
		}
		want.Inode = uint32(st.Ino)
		for _, is := range []bool{true, false} {
			all, err := Listeners()
			if err != nil || slices.Contains(all, want) != is {
				t.Errorf("%v, %v: %v is there, want %v", all, err, want, is)
			}
			l.Close()
		}
	}
}

// TestParseListeners checks truncated answers.
func TestParseListeners(t *testing.T) {
	b := make([]byte, answerLen)
	native.PutUint32(b, answerLen)
	native.PutUint16(b[4:], sockDiagByFamily)
	b[20], b[21], b[16+4+48+16] = 1, 2, 3
	all, done, err := parseListeners(nil, append(b, b...))
	if want := (Listener{258, 3}); !slices.Equal(all, []Listener{want, want}) || done || err != nil {
		t.Errorf("%v, %v, %v", all, done, err)
	}
	for n := unix.SizeofNlMsghdr; n < len(b); n++ {
		if _, _, err := parseListeners(nil, b[:n]); err == nil {
			t.Errorf("%d bytes are an answer", n)
		}
	}
}
