//go:build linux

package cm

import (
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
)

// The device has no multicast groups. Commands about them fail as on such a device: with ENOSYS,
// once the kernel has found nothing else to object to.

// +checklocks:c.cm.mu
func (c *Channel) joinIPLocked(_ Caller, in []byte, room int) (a answer, err error) {
	j, err := ucma.ParseJoinIP(in)
	return a, c.joinWithLocked(j, err, room)
}

// +checklocks:c.cm.mu
func (c *Channel) joinLocked(_ Caller, in []byte, room int) (a answer, err error) {
	j, err := ucma.ParseJoin(in)
	return a, c.joinWithLocked(j, err, room)
}

// +checklocks:c.cm.mu
func (c *Channel) joinWithLocked(j ucma.Join, err error, room int) error {
	switch {
	case room < 4:
		return syscall.ENOSPC
	case err != nil, !j.Addr.IsValid() && !j.Addr.IB, j.Flags != ucma.JoinFull && j.Flags != ucma.JoinSendOnly:
		return syscall.EINVAL
	}
	i, err := c.askedLocked(j.ID, nil)
	switch {
	case err != nil:
		return err
	case i.state != bound && i.state != addressed || !i.space.Datagrams():
		return syscall.EINVAL
	}
	c.cm.log.Warn("the device has no multicast", "group", j.Addr.Addr())
	return syscall.ENOSYS
}

// +checklocks:c.cm.mu
func (c *Channel) leaveLocked(_ Caller, in []byte, room int) (a answer, err error) {
	switch _, err := ucma.ParseAnswered(in); {
	case room < 4:
		return a, syscall.ENOSPC
	case err != nil:
		return a, inputErrno
	}
	return a, syscall.ENOENT // nothing has joined
}
