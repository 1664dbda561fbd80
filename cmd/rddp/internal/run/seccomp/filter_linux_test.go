//go:build amd64 || arm64

package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// decide runs the filter on a call and returns its verdict. The machine of package bpf reads words
// in network order, as filters of packets do; so the test writes them in that order.
func decide(t *testing.T, tcp TCP, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	var raw []bpf.Instruction
	for _, i := range Filter(testWrites, tcp) {
		raw = append(raw, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K}.Disassemble())
	}
	vm, err := bpf.NewVM(raw)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[dataNumber:], number)
	binary.BigEndian.PutUint32(data[dataArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[dataArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[dataArgs+8*i+4:], uint32(a>>32))
	}
	verdict, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}

// testWrites is the range in which writes are commands.
var testWrites = WriteRange(1024)

func TestWriteRange(t *testing.T) {
	for limit, want := range map[uint64]Range{
		1 << 20: {496, 992}, 1024: {496, 992}, 1023: {112, 224}, 256: {112, 224}, 255: {16, 32}, 64: {16, 32}, 20: {},
	} {
		if got := WriteRange(limit); got != want {
			t.Errorf("WriteRange(%d) = %v, want %v", limit, got, want)
		}
	}
}

func number(t *testing.T, k Kind) uint32 {
	t.Helper()
	for _, c := range calls {
		if c.Kind == k {
			return c.number
		}
	}
	t.Fatalf("no call of kind %d", k)
	return 0
}

func TestFilter(t *testing.T) {
	const here = uint64(atCWD)
	openat, statat, fstat := number(t, OpenAt), number(t, StatAt), number(t, FStat)
	ioctl, statx, accessat := number(t, Ioctl), number(t, StatX), number(t, AccessAt)
	window := uint64(Windows[0])
	tests := []struct {
		desc   string
		number uint32
		args   []uint64
		want   uint32
	}{
		{"open of a path", openat, []uint64{here, 1}, notify},
		{"open of a path, with a sign in the high half", openat, []uint64{0xffffffffffffff9c, 1}, notify},
		{"open below a directory", openat, []uint64{3, 1}, allow},
		{"stat of a path", statat, []uint64{here, 1, 2, 0}, notify},
		{"stat of a link", statat, []uint64{here, 1, 2, unix.AT_SYMLINK_NOFOLLOW}, notify},
		{"stat below a directory", statat, []uint64{3, 1, 2, 0}, allow},
		{"stat of a descriptor of ours", statat, []uint64{window, 1, 2, unix.AT_EMPTY_PATH}, notify},
		{"stat of another descriptor", statat, []uint64{3, 1, 2, unix.AT_EMPTY_PATH}, allow},
		{"statx of a path", statx, []uint64{here, 1, 0}, notify},
		{"statx below a directory", statx, []uint64{3, 1, 0}, allow},
		{"statx of a descriptor of ours", statx, []uint64{window + Width - 1, 1, unix.AT_EMPTY_PATH}, notify},
		{"statx of another descriptor", statx, []uint64{window + Width, 1, unix.AT_EMPTY_PATH}, allow},
		{"access of a path", accessat, []uint64{here, 1}, notify},
		{"access below a directory", accessat, []uint64{5, 1}, allow},
		{"the ioctl of the verbs", ioctl, []uint64{3, 0xc0181b01}, notify},
		{"another ioctl", ioctl, []uint64{window, 0x5401}, allow},
		{"a socket for RDMA", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 20}, refuse},
		{"a socket for routes", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, allow},
		{"a TCP socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 20}, allow},
		{"read", unix.SYS_READ, []uint64{window}, allow},
		{"write: a doorbell is native", unix.SYS_WRITE, []uint64{window, 1, 32}, allow},
		{"write to a channel", unix.SYS_WRITE, []uint64{uint64(testWrites.Low), 1, 32}, notify},
		{"write to the last channel", unix.SYS_WRITE, []uint64{uint64(testWrites.High - 1), 1, 32}, notify},
		{"write below the channels", unix.SYS_WRITE, []uint64{uint64(testWrites.Low - 1), 1, 32}, allow},
		{"stat of a channel", statat, []uint64{uint64(testWrites.Low), 1, 2, unix.AT_EMPTY_PATH}, notify},
		{"stat below the channels", statat, []uint64{uint64(testWrites.Low - 1), 1, 2, unix.AT_EMPTY_PATH}, allow},
		{"a call of the x32 interface", x32Bit | openat, []uint64{here, 1}, allow},
	}
	for _, w := range Windows {
		for _, x := range []struct {
			fd   int
			want uint32
		}{{w, notify}, {w + Width - 1, notify}, {w + Width, allow}} {
			if got := decide(t, 0, auditArch, fstat, uint64(x.fd)); got != x.want {
				t.Errorf("fstat of descriptor %d: 0x%x, want 0x%x", x.fd, got, x.want)
			}
		}
	}
	for _, tt := range tests {
		if got := decide(t, 0, auditArch, tt.number, tt.args...); got != tt.want {
			t.Errorf("%s: 0x%x, want 0x%x", tt.desc, got, tt.want)
		}
		if got := decide(t, 0, unix.AUDIT_ARCH_I386, tt.number, tt.args...); got != allow {
			t.Errorf("%s, of a 32-bit program: 0x%x, want 0x%x", tt.desc, got, uint32(allow))
		}
	}
}

func TestFilterOfTCP(t *testing.T) {
	for _, c := range tcpCalls {
		if got := kindOf(auditArch, int32(c.number)); got != c.Kind {
			t.Errorf("call %d is of kind %d, want %d", c.number, got, c.Kind)
		}
		for tcp := range Made | Accepted + 1 {
			want := uint32(allow)
			if c.of&tcp != 0 {
				want = notify
			}
			args := []uint64{3, 1, 0, 0}
			if c.test != "notify" {
				if got := decide(t, tcp, auditArch, c.number, args...); got != allow {
					t.Errorf("call %d that does not connect, with tcp %v: 0x%x", c.number, tcp, got)
				}
				args[map[Kind]int{SendTo: 3, SendMMsg: 3, SendMsg: 2}[c.Kind]] = unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL
			}
			if got := decide(t, tcp, auditArch, c.number, args...); got != want {
				t.Errorf("call %d, with tcp %v: 0x%x, want 0x%x", c.number, tcp, got, want)
			}
		}
	}
}

// TestFilterOf32Bits: of 32-bit programs the filter names connect and listen, by whatever call, and
// nothing else.
func TestFilterOf32Bits(t *testing.T) {
	for tcp := range Made | Accepted + 1 {
		for _, c := range calls32 {
			if got := kindOf(arch32, int32(c.number)); got != c.Kind {
				t.Errorf("call %d is of kind %d, want %d", c.number, got, c.Kind)
			}
			for first := range uint64(8) {
				of := c.of
				if c.Kind == SocketCall32 {
					of = map[uint64]TCP{socketCallConnect: Made, socketCallListen: Accepted}[first]
				}
				want := uint32(allow)
				if of&tcp != 0 {
					want = notify
				}
				if got := decide(t, tcp, arch32, c.number, first); got != want {
					t.Errorf("call %d of %d, with tcp %v: 0x%x, want 0x%x", c.number, first, tcp, got, want)
				}
			}
		}
		if got := decide(t, tcp, arch32, number(t, OpenAt), uint64(atCWD)); got != allow {
			t.Errorf("another call, with tcp %v: 0x%x", tcp, got)
		}
	}
}
