package netconn

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestSendBufferIsARing puts bytes and drops them at random, and checks every chunk: the ring takes
// exactly as many bytes as it has room for, and returns them in order.
func TestSendBufferIsARing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	var b sendBuffer
	var held []byte // what b holds
	fulls, wraps := 0, 0
	for range 3000 {
		if rnd.IntN(5) < 3 && !b.full() {
			p := data[rnd.IntN(len(data)/2):][:1+rnd.IntN(sendSize)]
			n := b.put(p)
			if n == 0 || n > len(p) || len(held)+n > sendSize {
				t.Fatalf("put of %d bytes to %d = %d", len(p), len(held), n)
			}
			if n < len(p) && len(held)+n < sendSize {
				wraps++
			}
			held = append(held, p[:n]...)
			if b.full() {
				fulls++
			}
		}
		if b.full() != (len(held) == sendSize) || b.empty() != (len(held) == 0) {
			t.Fatalf("full %t, empty %t with %d bytes", b.full(), b.empty(), len(held))
		}
		if b.empty() {
			b.release()
			continue
		}
		c := b.chunk()
		if len(c) == 0 || len(c) > chunkSize || len(c) > len(held) || !bytes.Equal(c, held[:len(c)]) {
			t.Fatalf("chunk of %d bytes, or other bytes, of %d", len(c), len(held))
		}
		if rnd.IntN(5) < 4 {
			b.drop(len(c))
			held = held[len(c):]
		}
	}
	if fulls == 0 || wraps == 0 {
		t.Errorf("full %d times, came to the end of the memory %d times: not all that there is was tried", fulls, wraps)
	}
}
