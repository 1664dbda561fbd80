package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// calls are the system calls that the filter tests, with the label of the test for each. The most
// frequent ones come first.
var calls = []struct {
	number uint32
	test   string
	Kind   Kind
}{
	{unix.SYS_OPENAT, "path at", OpenAt},
	{unix.SYS_FSTATAT, "path or descriptor 3", StatAt},
	{unix.SYS_FSTAT, "descriptor", FStat},
	{unix.SYS_IOCTL, "ioctl", Ioctl},
	{unix.SYS_STATX, "path or descriptor 2", StatX},
	{unix.SYS_READLINKAT, "path at", ReadLinkAt},
	{unix.SYS_GETDENTS64, "folder", List},
	{unix.SYS_FACCESSAT, "path at", AccessAt},
	{unix.SYS_FACCESSAT2, "path at", AccessAt},
	{unix.SYS_OPENAT2, "path at", OpenAt2},
	{unix.SYS_GETCWD, "notify", GetCwd},
	{unix.SYS_CHDIR, "notify", Chdir},
	{unix.SYS_FCHDIR, "folder", FChdir},
	{unix.SYS_STATFS, "notify", StatFS},
	{unix.SYS_FSTATFS, "folder", FStatFS},
	{unix.SYS_GETXATTR, "notify", GetXAttr},
	{unix.SYS_LGETXATTR, "notify", LGetXAttr},
	{unix.SYS_LISTXATTR, "notify", ListXAttr},
	{unix.SYS_LLISTXATTR, "notify", LListXAttr},
	{unix.SYS_SOCKET, "socket", Socket},
	{unix.SYS_EXECVE, "notify", Exec},
	{unix.SYS_EXECVEAT, "notify", Exec},
	{unix.SYS_WRITE, "write", Write},
	{unix.SYS_FCNTL, "from a number", DupFD},
	{unix.SYS_DUP3, "to a number", Dup2},
	{unix.SYS_DUP, "of a class", DupOf},
	{unix.SYS_SENDTO, "send to", SendTo},
	{unix.SYS_RECVFROM, "receive from", RecvFrom},
	{unix.SYS_SENDMSG, "send message", SendMsg},
	{unix.SYS_SENDMMSG, "send messages", SendMMsg},
	{unix.SYS_SETSOCKOPT, "option", SetOption},
	{unix.SYS_BIND, "bind", Bind},
}

// arch32 is the architecture of 32-bit programs, and calls32 are the calls of such programs that
// the filter intercepts.
const arch32 = unix.AUDIT_ARCH_ARM

var calls32 = []selectedCall{
	{283, Made, "notify", Connect32},
	{284, Accepted, "notify", Listen32},
}
