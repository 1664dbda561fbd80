//go:build amd64 || arm64

package seccomp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, the input of a filter.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // 8 bytes each; the low half comes first
)

const (
	ioctlVerbs     = 0xc0181b01
	netlinkRDMA    = 20
	allow          = unix.SECCOMP_RET_ALLOW
	notify         = unix.SECCOMP_RET_USER_NOTIF
	x32Bit         = 0x40000000
	loadWord       = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual      = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpAtLeast    = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpIfSet      = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	and            = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	returnConstant = unix.BPF_RET | unix.BPF_K
)

// Calls selects calls that the filter intercepts besides those about the device.
type Calls uint8

// The calls.
const (
	Made     Calls = 1 << iota // for the TCP connections that the program makes
	Accepted                   // for the TCP connections that it accepts
	// for a check of the program: what takes memory away from it, its doorbells, and its end
	Checked
)

// A selectedCall is a call that the filter intercepts if it is selected.
type selectedCall struct {
	number uint32
	of     Calls // intercepted if any of these is selected
	test   string
	Kind   Kind
}

var selectedCalls = []selectedCall{
	{unix.SYS_CONNECT, Made, "notify", Connect},
	{unix.SYS_ACCEPT4, Accepted, "notify", Accept4},
	{unix.SYS_ACCEPT, Accepted, "notify", Accept},
	{unix.SYS_LISTEN, Accepted, "notify", Listen},
	{unix.SYS_GETPEERNAME, Made | Accepted, "notify", GetPeerName},
	{unix.SYS_GETSOCKNAME, Made | Accepted, "notify", GetSockName},
	{unix.SYS_IO_URING_SETUP, Made | Accepted, "notify", URingSetup},
	{unix.SYS_MUNMAP, Checked, "notify", Unmap},
	{unix.SYS_MREMAP, Checked, "notify", Remap},
	{unix.SYS_MADVISE, Checked, "advice", Advise},
	{unix.SYS_MMAP, Checked, "map", Map},
	{unix.SYS_EXIT_GROUP, Checked, "notify", Exit},
}

// The numbers of socketcall's calls, which are the same on all architectures that have it.
const (
	socketCallConnect = 3
	socketCallListen  = 4
)

// An assembler collects the instructions of a filter. All jumps go forward to a label; the label ""
// is the next instruction.
type assembler struct {
	code   []unix.SockFilter
	jumps  map[int][2]string
	labels map[string]int
}

func (a *assembler) add(op uint16, k uint32) {
	a.code = append(a.code, unix.SockFilter{Code: op, K: k})
}

func (a *assembler) jump(op uint16, k uint32, yes, no string) {
	a.jumps[len(a.code)] = [2]string{yes, no}
	a.add(op, k)
}

func (a *assembler) label(name string) { a.labels[name] = len(a.code) }

// finish fills in the distances of the jumps.
func (a *assembler) finish() []unix.SockFilter {
	for at, names := range a.jumps {
		distance := func(name string) uint8 {
			if name == "" {
				return 0
			}
			to, ok := a.labels[name]
			if d := to - at - 1; ok && d >= 0 && d < 256 {
				return uint8(d)
			}
			panic(fmt.Sprintf("BUG: jump from %d to %q", at, name))
		}
		a.code[at].Jt, a.code[at].Jf = distance(names[0]), distance(names[1])
	}
	return a.code
}

// argument loads the low half of argument n of the call.
func (a *assembler) argument(n uint32) { a.add(loadWord, dataArgs+8*n) }

// Filter returns the BPF program that passes these calls to the supervisor:
//
//   - calls with a path that is absolute, or relative to the working directory or to a descriptor
//     with a number of Folders;
//   - listings, fchdir and fstatfs of a descriptor with a number of Folders;
//   - calls that stat a descriptor with a number of Devices or Channels;
//   - writes to a descriptor with a number of Channels, if they have the length of a command;
//   - calls that may put a descriptor at such a number: see Dup; dup, and fcntl, also for duplicates
//     of a descriptor with a number of a class, which get such a number, too;
//   - the ioctl of verbs, on any descriptor;
//   - calls that make a netlink socket for RDMA, and on a descriptor with a number of Sockets bind,
//     options of netlink, sendto and recvfrom with an address, sendmsg, and sendmmsg;
//   - execve and execveat.
//
// With Made and Accepted, it also passes the calls that connect, listen and accept, sends that
// connect (MSG_FASTOPEN), getsockname, getpeername and io_uring_setup, and the calls of 32-bit
// programs that connect and listen. With Checked, it also passes munmap, mmap with MAP_FIXED,
// mremap, madvise that drops pages, writes to a descriptor with a number of Devices, and
// exit_group.
func Filter(of Calls) []unix.SockFilter {
	a := &assembler{jumps: map[int][2]string{}, labels: map[string]int{}}
	a.add(loadWord, dataArch)
	a.jump(jumpEqual, auditArch, "", "32 bits")
	a.add(loadWord, dataNumber)
	a.jump(jumpAtLeast, x32Bit, "allow", "")
	for _, c := range calls {
		a.jump(jumpEqual, c.number, c.test, "")
	}
	for _, c := range selectedCalls {
		if c.of&of != 0 {
			a.jump(jumpEqual, c.number, c.test, "")
		}
	}
	a.add(returnConstant, allow)

	a.label("32 bits")
	a.jump(jumpEqual, arch32, "", "allow")
	a.add(loadWord, dataNumber)
	for _, c := range calls32 {
		if c.of&of != 0 {
			a.jump(jumpEqual, c.number, c.test, "")
		}
	}
	a.add(returnConstant, allow)

	a.label("socketcall")
	a.argument(0)
	if of&Made != 0 {
		a.jump(jumpEqual, socketCallConnect, "notify", "")
	}
	if of&Accepted != 0 {
		a.jump(jumpEqual, socketCallListen, "notify", "")
	}
	a.add(returnConstant, allow)

	fastOpen := func(flags uint32) {
		if of&Made == 0 {
			a.add(returnConstant, allow)
			return
		}
		a.argument(flags)
		a.jump(jumpIfSet, unix.MSG_FASTOPEN, "notify", "allow")
	}
	ofSocket := func(yes, no string) { // by the number of the descriptor
		a.argument(0)
		a.jump(jumpAtLeast, LeastNumber, "", no)
		a.jump(jumpAtLeast, Preferred, no, "")
		a.jump(jumpIfSet, socketMask, no, yes)
	}
	a.label("send to") // the length of the address is argument 5
	a.argument(5)
	a.jump(jumpAtLeast, unix.SizeofSockaddrNetlink, "", "fast open 3")
	a.label("send messages")
	ofSocket("notify", "fast open 3")
	a.label("fast open 3") // sendto, sendmmsg: flags are argument 3
	fastOpen(3)

	a.label("send message")
	ofSocket("notify", "fast open 2")
	a.label("fast open 2") // sendmsg: flags are argument 2
	fastOpen(2)

	a.label("receive from") // the address is argument 4
	a.argument(4)
	a.jump(jumpEqual, 0, "", "bind")
	a.add(loadWord, dataArgs+8*4+4) // the high half: Go's heap begins at an address whose low half is 0
	a.jump(jumpEqual, 0, "allow", "bind")

	a.label("option") // the level is argument 1
	a.argument(1)
	a.jump(jumpEqual, unix.SOL_NETLINK, "", "allow")

	a.label("bind")
	ofSocket("notify", "allow")

	a.label("path or descriptor 3") // newfstatat: flags are argument 3
	a.argument(3)
	a.jump(jumpIfSet, unix.AT_EMPTY_PATH, "descriptor", "path at")

	a.label("path or descriptor 2") // statx: flags are argument 2
	a.argument(2)
	a.jump(jumpIfSet, unix.AT_EMPTY_PATH, "descriptor", "path at")

	a.label("path at") // openat, faccessat: other open directories are the kernel's alone
	a.argument(0)
	a.jump(jumpEqual, atCWD, "notify", "folder number")

	a.label("folder") // getdents64, fchdir, fstatfs: the descriptor is argument 0
	a.argument(0)
	a.label("folder number")
	a.jump(jumpAtLeast, LeastNumber, "", "allow")
	a.add(and, classMask)
	a.jump(jumpEqual, uint32(Folders), "notify", "allow")

	a.label("ioctl")
	a.argument(1)
	a.jump(jumpEqual, ioctlVerbs, "notify", "allow")

	a.label("socket")
	a.argument(0)
	a.jump(jumpEqual, unix.AF_NETLINK, "", "allow")
	a.argument(2)
	a.jump(jumpEqual, netlinkRDMA, "notify", "allow")

	a.label("write")
	a.argument(0)
	a.jump(jumpAtLeast, LeastNumber, "", "allow")
	a.add(and, classMask)
	if of&Checked != 0 { // a doorbell
		a.jump(jumpEqual, uint32(Devices), "notify", "")
	}
	a.jump(jumpEqual, uint32(Channels), "", "allow")
	a.argument(2)
	a.jump(jumpAtLeast, longestCommand+1, "allow", "")
	a.jump(jumpAtLeast, shortestCommand, "", "allow")
	a.jump(jumpEqual, shortestCommand, "notify", "")
	a.jump(jumpIfSet, commandUnit-1, "allow", "notify")

	if of&Checked != 0 {
		a.label("advice") // the advice is argument 2
		a.argument(2)
		a.jump(jumpEqual, unix.MADV_DONTNEED, "notify", "")
		a.jump(jumpEqual, unix.MADV_REMOVE, "notify", "allow")
		a.label("map") // the flags are argument 3
		a.argument(3)
		a.jump(jumpIfSet, unix.MAP_FIXED, "notify", "allow")
	}

	a.label("descriptor")
	a.argument(0)
	a.jump(jumpAtLeast, LeastNumber, "odd", "allow")

	a.label("to a number") // dup2 and dup3: the new number is argument 1
	a.argument(1)
	a.jump(jumpAtLeast, LeastNumber, "class", "allow")

	a.label("odd") // the numbers of Devices and Channels are odd
	a.jump(jumpIfSet, 1, "notify", "allow")

	a.label("from a number") // fcntl: the command is argument 1, and the least number argument 2
	a.argument(1)
	a.jump(jumpEqual, unix.F_DUPFD, "least", "")
	a.jump(jumpEqual, unix.F_DUPFD_CLOEXEC, "least", "allow")
	a.label("least")
	a.argument(2)
	a.jump(jumpAtLeast, LeastNumber, "notify", "")
	a.label("of a class") // dup
	a.argument(0)
	a.jump(jumpAtLeast, LeastNumber, "class", "allow")

	a.label("class") // any class has the number
	a.jump(jumpIfSet, classMask, "notify", "")
	a.jump(jumpAtLeast, Preferred, "allow", "")
	a.jump(jumpIfSet, socketMask, "allow", "notify")

	a.label("notify")
	a.add(returnConstant, notify)
	a.label("allow")
	a.add(returnConstant, allow)
	return a.finish()
}

const atCWD = uint32(0xffffff9c) // unix.AT_FDCWD as a number of 32 bits
