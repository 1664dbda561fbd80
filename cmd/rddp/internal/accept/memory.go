package accept

import (
	"net"

	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/locks"
)

// A Memory is memory that the clients of a server share. The clients at one address get at most
// half of what clients elsewhere leave. A limit for each connection is none for all of them
// together: a server whose peers make it hold more than a few KiB each has a Memory.
type Memory struct {
	most int64 // bytes

	mu    locks.Mutex[locks.Leaf]
	taken int64                      // +checklocks:mu
	of    map[admission.Source]int64 // +checklocks:mu
}

// NewMemory returns a Memory of so many bytes.
func NewMemory(most int64) *Memory {
	return &Memory{most: most, of: make(map[admission.Source]int64)}
}

// Take takes n bytes for the client at an address, and reports whether the client may have them.
func (m *Memory) Take(from net.Addr, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := admission.SourceOf(from)
	mine := m.of[s]
	if others := m.taken - mine; n > (m.most-others)/2-mine {
		return false
	}
	m.taken += n
	m.of[s] = mine + n
	return true
}

// Give gives back n bytes that Take has taken for the client at that address.
func (m *Memory) Give(from net.Addr, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := admission.SourceOf(from)
	m.taken -= n
	if m.of[s] -= n; m.of[s] == 0 {
		delete(m.of, s)
	}
}

// Taken returns how many bytes all clients together have taken.
func (m *Memory) Taken() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}
