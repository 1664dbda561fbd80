package run

import "golang.org/x/sys/unix"

// waitCalls has the system calls that wait for descriptors, by their numbers.
var waitCalls = map[uint64]waitCall{
	unix.SYS_READ: waitRead, unix.SYS_PPOLL: waitPoll, unix.SYS_PSELECT6: waitSelect, unix.SYS_EPOLL_PWAIT: waitEpoll, unix.SYS_EPOLL_PWAIT2: waitEpoll,
}
