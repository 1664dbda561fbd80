package bufpool

import (
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestChunkSizes: a chunk has the requested length, in memory of the size that ChunkSize returns.
func TestChunkSizes(t *testing.T) {
	for _, n := range []int{0, 1, minChunk, minChunk + 1, 64 << 10, 128<<10 + 1, maxChunk - 1, maxChunk, maxChunk + 1, 3 * maxChunk} {
		c := GetChunk(n)
		if len(c.B) != n || c.Size() != ChunkSize(n) || c.Size() < n || n >= minChunk && c.Size() >= 2*n {
			t.Errorf("GetChunk(%d): %d bytes in memory of %d, ChunkSize says %d", n, len(c.B), c.Size(), ChunkSize(n))
		}
		c.Put()
	}
}

// TestLongChunksAreUsedAgain: messages of 1 MiB do not make garbage.
func TestLongChunksAreUsedAgain(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector makes sync.Pool forget at random")
	}
	if n := testing.AllocsPerRun(100, func() { GetChunk(maxChunk).Put() }); n > 0 {
		t.Errorf("%v allocations for a chunk of %d bytes", n, maxChunk)
	}
}
