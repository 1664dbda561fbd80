//go:build linux

package cm

import (
	"github.com/rddp/rddp/internal/rdmaabi/nldev"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// Objects returns the ids that have an address of the device or listen for it.
func (m *CM) Objects() (all []nldev.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.ids {
		if !i.near && i.state != listening {
			continue
		}
		o := nldev.ID{Number: i.num, PID: i.ch.pid, Space: uint16(i.space), State: i.state.kernel(), QP: i.qpn, Src: i.src, Dst: i.dst}
		if o.QPType = uint8(uverbs.RC); i.space.Datagrams() {
			o.QPType = uint8(uverbs.UD)
		}
		all = append(all, o)
	}
	return all
}
