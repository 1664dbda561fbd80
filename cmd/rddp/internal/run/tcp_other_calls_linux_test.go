//go:build amd64 || arm64

package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { programs["tcp-fastopen"] = tcpFastOpenProgram }

// tcpFastOpenProgram connects by each send call that supports MSG_FASTOPEN. If the flag is not
// supported, it uses connect.
func tcpFastOpenProgram(args []string) error {
	to := unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(netip.MustParseAddrPort(args[0]).Port())}
	data := []byte("sent")
	for name, send := range map[string]func(fd int) error{
		"sendto":   func(fd int) error { return unix.Sendto(fd, data, unix.MSG_FASTOPEN, &to) },
		"sendmsg":  func(fd int) error { return unix.Sendmsg(fd, data, nil, &to, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL) },
		"sendmmsg": func(fd int) error { return sendMessages(fd, data, &to) },
	} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err = send(fd); errors.Is(err, unix.EOPNOTSUPP) {
			fmt.Fprintln(os.Stderr, name, "is not supported")
			if err = unix.Connect(fd, &to); err == nil {
				_, err = unix.Write(fd, data)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		back := make([]byte, len(data))
		for n := 0; n < len(back); {
			k, err := unix.Read(fd, back[n:])
			if err != nil || k == 0 {
				return fmt.Errorf("%s: %d bytes, %w", name, k, err)
			}
			n += k
		}
		if !bytes.Equal(back, data) {
			return fmt.Errorf("%s: %q came back", name, back)
		}
		unix.Close(fd)
	}
	return nil
}

// sendMessages is sendmmsg with one message and MSG_FASTOPEN.
func sendMessages(fd int, data []byte, to *unix.SockaddrInet4) error {
	name := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.Addr}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&name.Port))[:], uint16(to.Port))
	v := unix.Iovec{Base: &data[0]}
	v.SetLen(len(data))
	m := struct {
		header unix.Msghdr
		sent   uint32
	}{header: unix.Msghdr{Name: (*byte)(unsafe.Pointer(&name)), Namelen: unix.SizeofSockaddrInet4, Iov: &v, Iovlen: 1}}
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m)), 1, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, 0, 0)
	switch {
	case errno != 0:
		return errno
	case n != 1 || int(m.sent) != len(data):
		return fmt.Errorf("%d messages sent, of the first one %d bytes", n, m.sent)
	}
	return nil
}

// TestTCPFastOpen connects by MSG_FASTOPEN. To an address that a rule has chosen, the program must
// use connect instead, and the connection goes over DDP. A connection to another address is
// unchanged.
func TestTCPFastOpen(t *testing.T) {
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	var log bytes.Buffer
	mustSucceed(t, underTCP(t, serveExit(t, "127.0.0.1:0", echo), &log, "tcp-fastopen"), &log, "ddp=3 plain=0 untouched=0")
	for _, want := range []string{"sendto is not supported", "sendmsg is not supported", "sendmmsg is not supported", "no MSG_FASTOPEN"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log.Bytes())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log.Reset()
	c := underTCP(t, l.Addr().String(), &log, "tcp-fastopen")
	c.Args[len(c.Args)-1] = echo // not chosen by the rule
	mustSucceed(t, c, &log, "ddp=0 plain=0 untouched=0")
	if strings.Contains(log.String(), "not supported") {
		t.Errorf("a send that no rule has chosen is answered:\n%s", log.Bytes())
	}
}
