//go:build amd64 || arm64

package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// decide runs the filter on a call and returns its verdict. Package bpf's VM reads words in network
// order, like packet filters, so the test writes them in that order.
func decide(t *testing.T, of Calls, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	var raw []bpf.Instruction
	for _, i := range Filter(of) {
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
	device, folder, channel, neither, socket := uint64(32+Devices), uint64(32+Folders), uint64(996+Channels), uint64(1000), uint64(48)
	low := uint64(32 - 4 + Channels) // the last number below the classes
	tests := []struct {
		desc   string
		number uint32
		args   []uint64
		want   uint32
	}{
		{"open of a path", openat, []uint64{here, 1}, notify},
		{"open of a path, with a sign in the high half", openat, []uint64{0xffffffffffffff9c, 1}, notify},
		{"open below a directory", openat, []uint64{3, 1}, allow},
		{"open below a folder of ours", openat, []uint64{folder, 1}, notify},
		{"open below a device", openat, []uint64{device, 1}, allow},
		{"stat below a folder of ours", statat, []uint64{folder, 1, 2, 0}, notify},
		{"stat of a folder of ours", statat, []uint64{folder, 1, 2, unix.AT_EMPTY_PATH}, allow},
		{"readlink of a path", number(t, ReadLinkAt), []uint64{here, 1}, notify},
		{"readlink below a directory", number(t, ReadLinkAt), []uint64{3, 1}, allow},
		{"a listing of a folder of ours", number(t, List), []uint64{folder, 1}, notify},
		{"a listing of another directory", number(t, List), []uint64{3, 1}, allow},
		{"stat of a path", statat, []uint64{here, 1, 2, 0}, notify},
		{"stat of a link", statat, []uint64{here, 1, 2, unix.AT_SYMLINK_NOFOLLOW}, notify},
		{"stat below a directory", statat, []uint64{3, 1, 2, 0}, allow},
		{"stat of a descriptor of ours", statat, []uint64{device, 1, 2, unix.AT_EMPTY_PATH}, notify},
		{"stat of a channel", statat, []uint64{channel, 1, 2, unix.AT_EMPTY_PATH}, notify},
		{"stat of another descriptor", statat, []uint64{neither, 1, 2, unix.AT_EMPTY_PATH}, allow},
		{"stat of a low descriptor", statat, []uint64{low, 1, 2, unix.AT_EMPTY_PATH}, allow},
		{"statx of a path", statx, []uint64{here, 1, 0}, notify},
		{"statx below a directory", statx, []uint64{3, 1, 0}, allow},
		{"statx of a descriptor of ours", statx, []uint64{device, 1, unix.AT_EMPTY_PATH}, notify},
		{"statx of another descriptor", statx, []uint64{neither, 1, unix.AT_EMPTY_PATH}, allow},
		{"fstat of a descriptor of ours", fstat, []uint64{device}, notify},
		{"fstat of a channel far up", fstat, []uint64{1<<20 + uint64(Channels)}, notify},
		{"fstat of another descriptor", fstat, []uint64{neither}, allow},
		{"fstat of a low descriptor", fstat, []uint64{low}, allow},
		{"access of a path", accessat, []uint64{here, 1}, notify},
		{"access below a directory", accessat, []uint64{5, 1}, allow},
		{"the ioctl of the verbs", ioctl, []uint64{3, 0xc0181b01}, notify},
		{"another ioctl", ioctl, []uint64{device, 0x5401}, allow},
		{"a socket for RDMA", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 20}, notify},
		{"a socket for routes", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, allow},
		{"sendto on a netlink socket", unix.SYS_SENDTO, []uint64{socket, 1, 16, 0, 1, 12}, notify},
		{"sendto on the highest netlink socket", unix.SYS_SENDTO, []uint64{1008, 1, 16, 0, 1, 12}, notify},
		{"sendto on a socket further up", unix.SYS_SENDTO, []uint64{1024, 1, 16, 0, 1, 12}, allow},
		{"sendto on another socket", unix.SYS_SENDTO, []uint64{5, 1, 16, 0, 1, 12}, allow},
		{"sendto a longer address", unix.SYS_SENDTO, []uint64{socket, 1, 16, 0, 1, 128}, notify},
		{"sendto a shorter address", unix.SYS_SENDTO, []uint64{socket, 1, 16, 0, 1, 8}, allow},
		{"sendmmsg on a netlink socket", unix.SYS_SENDMMSG, []uint64{socket, 1, 2, 0}, notify},
		{"sendmmsg on another socket", unix.SYS_SENDMMSG, []uint64{neither, 1, 2, 0}, allow},
		{"send", unix.SYS_SENDTO, []uint64{socket, 1, 16, 0, 0, 0}, allow},
		{"sendmsg on a netlink socket", unix.SYS_SENDMSG, []uint64{socket, 1, 0}, notify},
		{"sendmsg on standard input", unix.SYS_SENDMSG, []uint64{0, 1, 0}, allow},
		{"sendmsg on a socket below the netlink sockets", unix.SYS_SENDMSG, []uint64{16, 1, 0}, allow},
		{"sendmsg on a socket further up", unix.SYS_SENDMSG, []uint64{1024, 1, 0}, allow},
		{"sendmsg on another socket", unix.SYS_SENDMSG, []uint64{neither, 1, 0}, allow},
		{"recvfrom with an address", unix.SYS_RECVFROM, []uint64{socket, 1, 16, 0, 1, 1}, notify},
		{"recvfrom with an address on another socket", unix.SYS_RECVFROM, []uint64{33, 1, 16, 0, 1, 1}, allow},
		{"recvfrom with an address whose low half is 0", unix.SYS_RECVFROM, []uint64{socket, 1, 16, 0, 0xc000000000, 1}, notify},
		{"recv", unix.SYS_RECVFROM, []uint64{socket, 1, 16, 0, 0, 0}, allow},
		{"bind of a netlink socket", unix.SYS_BIND, []uint64{socket, 1, 12}, notify},
		{"bind of another socket", unix.SYS_BIND, []uint64{3, 1, 12}, allow},
		{"an option of netlink", unix.SYS_SETSOCKOPT, []uint64{socket, unix.SOL_NETLINK, 1}, notify},
		{"another option", unix.SYS_SETSOCKOPT, []uint64{socket, unix.SOL_SOCKET, 1}, allow},
		{"dup to the number of a netlink socket", unix.SYS_DUP3, []uint64{1, socket, 0}, notify},
		{"a TCP socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 20}, allow},
		{"read", unix.SYS_READ, []uint64{channel}, allow},
		{"write: a doorbell is native", unix.SYS_WRITE, []uint64{device, 1, 32}, allow},
		{"write to a channel", unix.SYS_WRITE, []uint64{channel, 1, 32}, notify},
		{"write of the shortest command", unix.SYS_WRITE, []uint64{channel, 1, 12}, notify},
		{"write of the longest command that may be", unix.SYS_WRITE, []uint64{channel, 1, 400}, notify},
		{"write of a longer one", unix.SYS_WRITE, []uint64{channel, 1, 408}, allow},
		{"write of a length that no command has", unix.SYS_WRITE, []uint64{channel, 1, 36}, allow},
		{"write to an eventfd", unix.SYS_WRITE, []uint64{channel, 1, 8}, allow},
		{"write to another descriptor", unix.SYS_WRITE, []uint64{neither, 1, 32}, allow},
		{"write to a low descriptor", unix.SYS_WRITE, []uint64{low, 1, 32}, allow},
		{"dup to a number of ours", unix.SYS_DUP3, []uint64{1, device, 0}, notify},
		{"dup to the number of a folder of ours", unix.SYS_DUP3, []uint64{1, folder, 0}, notify},
		{"dup to another number", unix.SYS_DUP3, []uint64{1, neither, 0}, allow},
		{"dup to a low number", unix.SYS_DUP3, []uint64{1, low, 0}, allow},
		{"dup from a number on", unix.SYS_FCNTL, []uint64{1, unix.F_DUPFD, neither}, notify},
		{"dup from a number on, closed by exec", unix.SYS_FCNTL, []uint64{1, unix.F_DUPFD_CLOEXEC, 32}, notify},
		{"dup from a low number on", unix.SYS_FCNTL, []uint64{1, unix.F_DUPFD, 10}, allow},
		{"dup of a folder of ours", unix.SYS_FCNTL, []uint64{folder, unix.F_DUPFD_CLOEXEC, 3}, notify},
		{"fcntl of a device", unix.SYS_FCNTL, []uint64{device, unix.F_DUPFD, 3}, notify},
		{"dup of a folder of ours", unix.SYS_DUP, []uint64{folder}, notify},
		{"dup of a channel", unix.SYS_DUP, []uint64{channel}, notify},
		{"dup of a netlink socket", unix.SYS_DUP, []uint64{socket}, notify},
		{"dup of another descriptor", unix.SYS_DUP, []uint64{neither}, allow},
		{"dup of a low descriptor", unix.SYS_DUP, []uint64{low}, allow},
		{"another fcntl", unix.SYS_FCNTL, []uint64{device, unix.F_SETFL, 1 << 11}, allow},
		{"a call of the x32 interface", x32Bit | openat, []uint64{here, 1}, allow},
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
	for _, c := range selectedCalls {
		if c.of == Checked {
			continue
		}
		if got := kindOf(auditArch, int32(c.number)); got != c.Kind {
			t.Errorf("call %d is of kind %d, want %d", c.number, got, c.Kind)
		}
		for tcp := range Made | Accepted + 1 {
			want := uint32(allow)
			if c.of&tcp != 0 {
				want = notify
			}
			if got := decide(t, tcp, auditArch, c.number, 3, 1, 0, 0); got != want {
				t.Errorf("call %d, with tcp %v: 0x%x, want 0x%x", c.number, tcp, got, want)
			}
		}
	}
}

// TestFilterOfCheck: a check of the program sees its doorbells, its end, and what takes memory away
// from it. Without a check these calls cost nothing.
func TestFilterOfCheck(t *testing.T) {
	tests := []struct {
		desc   string
		number uint32
		args   []uint64
		kind   Kind
		want   uint32
	}{
		{"munmap", unix.SYS_MUNMAP, []uint64{4096, 4096}, Unmap, notify},
		{"mremap", unix.SYS_MREMAP, []uint64{4096, 4096, 8192, 1}, Remap, notify},
		{"madvise that drops pages", unix.SYS_MADVISE, []uint64{4096, 4096, unix.MADV_DONTNEED}, Advise, notify},
		{"madvise that makes holes", unix.SYS_MADVISE, []uint64{4096, 4096, unix.MADV_REMOVE}, Advise, notify},
		{"another madvise", unix.SYS_MADVISE, []uint64{4096, 4096, unix.MADV_HUGEPAGE}, Advise, allow},
		{"exit_group", unix.SYS_EXIT_GROUP, []uint64{0}, Exit, notify},
		{"a doorbell", unix.SYS_WRITE, []uint64{32 + uint64(Devices), 1, 32}, Write, notify},
		{"another write", unix.SYS_WRITE, []uint64{1, 1, 32}, Write, allow},
		{"a write to a folder's number", unix.SYS_WRITE, []uint64{32 + uint64(Folders), 1, 32}, Write, allow},
		{"a command of rdma_cm", unix.SYS_WRITE, []uint64{32 + uint64(Channels), 1, 32}, Write, notify},
	}
	for _, tt := range tests {
		if got := kindOf(auditArch, int32(tt.number)); got != tt.kind {
			t.Errorf("%s is of kind %d, want %d", tt.desc, got, tt.kind)
		}
		for tcp := range Made | Accepted + 1 {
			if got := decide(t, tcp|Checked, auditArch, tt.number, tt.args...); got != tt.want {
				t.Errorf("%s: 0x%x, want 0x%x", tt.desc, got, tt.want)
			}
		}
		if got := decide(t, 0, auditArch, tt.number, tt.args...); got != allow && tt.args[0] != 32+uint64(Channels) {
			t.Errorf("%s, without a check: 0x%x", tt.desc, got)
		}
	}
}

// TestFilterOfFastOpen: sends that connect are intercepted like connect.
func TestFilterOfFastOpen(t *testing.T) {
	const flags = unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL
	for tcp := range Made | Accepted + 1 {
		want := uint32(allow)
		if tcp&Made != 0 {
			want = notify
		}
		for _, to := range []uint64{0, 12, 16} {
			if got := decide(t, tcp, auditArch, unix.SYS_SENDTO, 3, 1, 2, flags, 1, to); got != want {
				t.Errorf("sendto with an address of %d bytes, with tcp %v: 0x%x, want 0x%x", to, tcp, got, want)
			}
		}
		if got := decide(t, tcp, auditArch, unix.SYS_SENDMSG, 3, 1, flags); got != want {
			t.Errorf("sendmsg, with tcp %v: 0x%x, want 0x%x", tcp, got, want)
		}
		if got := decide(t, tcp, auditArch, unix.SYS_SENDMMSG, 3, 1, 1, flags); got != want {
			t.Errorf("sendmmsg, with tcp %v: 0x%x, want 0x%x", tcp, got, want)
		}
	}
}

// TestFilterOf32Bits: for 32-bit programs, the filter intercepts only connect and listen, by every
// call that does them.
func TestFilterOf32Bits(t *testing.T) {
	for tcp := range Made | Accepted + 1 {
		for _, c := range calls32 {
			if got := kindOf(arch32, int32(c.number)); got != c.Kind {
				t.Errorf("call %d is of kind %d, want %d", c.number, got, c.Kind)
			}
			for first := range uint64(8) {
				of := c.of
				if c.Kind == SocketCall32 {
					of = map[uint64]Calls{socketCallConnect: Made, socketCallListen: Accepted}[first]
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
