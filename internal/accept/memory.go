package accept

import (
	"net"

	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/locks"
)

// A Memory accounts for memory that the clients of a server share. The clients at one address get
// at most half of the memory that other clients leave. A server needs a Memory if each peer can
// make it hold more than a few KiB, because a limit for each connection does not limit all of them
// together.
type Memory struct {
	most int64 // bytes

	mu    locks.Mutex[locks.Leaf]
	taken int64                      // +checklocks:mu
	of    map[admission.Source]int64 // +checklocks:mu
}

// NewMemory returns a Memory of most bytes.
func NewMemory(most int64) *Memory {
	return &Memory{most: most, of: make(map[admission.Source]int64)}
}

// Take takes n bytes for the client at an address. It returns false if the client must not have
// them.
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

// Give returns n bytes that Take has taken for the client at that address.
func (m *Memory) Give(from net.Addr, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := admission.SourceOf(from)
	m.taken -= n
	if m.of[s] -= n; m.of[s] == 0 {
		delete(m.of, s)
	}
}

// Taken returns the number of bytes that all clients together have taken.
func (m *Memory) Taken() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}
