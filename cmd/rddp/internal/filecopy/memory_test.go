package filecopy

import "testing"

// TestMemoryOfAllClients bounds the memory for chunks of maximum length for all clients. A client
// beyond MaxConns gets none: see TestPlaces.
func TestMemoryOfAllClients(t *testing.T) {
	var c serverConn
	each := int64(len(c.slots)) * maxChunk
	if n := each * DefaultMaxConns; n > 1<<30 {
		t.Errorf("all clients together can make a server hold %d bytes", n)
	}
	p := pace{limit: maxChunk}
	for range 20 {
		n := p.next(1 << 40)
		if n > maxChunk {
			t.Fatalf("a chunk of %d bytes", n)
		}
		p.took(n, 0)
	}
}
