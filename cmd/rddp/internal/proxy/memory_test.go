package proxy

import "testing"

// TestMemoryOfAllClients bounds the buffers of all connections, in both directions. A client beyond
// MaxConns gets no buffers: see TestPlaces.
func TestMemoryOfAllClients(t *testing.T) {
	if n := int64(2*bufferSize) * DefaultMaxConns; n > 128<<20 {
		t.Errorf("all clients together can make a proxy hold %d bytes", n)
	}
}
