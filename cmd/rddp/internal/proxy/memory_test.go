package proxy

import "testing"

// TestMemoryOfAllClients: the buffers of both directions of the connections in all places. A client
// beyond MaxConns gets none: see TestMaxConns.
func TestMemoryOfAllClients(t *testing.T) {
	if n := int64(2*bufferSize) * DefaultMaxConns; n > 128<<20 {
		t.Errorf("all clients together can make a proxy hold %d bytes", n)
	}
}
