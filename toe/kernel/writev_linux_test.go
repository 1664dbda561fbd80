package kernel

import (
	"bytes"
	"io"
	"testing"

	"github.com/rddp/rddp/toe/toetest"
)

// TestTryWriteBatchOverSeveralWritevs checks that a batch arrives complete and in order if it has
// more slices than one writev takes and the send buffer has no room for it at first.
func TestTryWriteBatchOverSeveralWritevs(t *testing.T) {
	const size = 2 << 20
	x, y := pairOf(t, &Backend{})
	if err := x.SetWriteBuffer(128 << 10); err != nil {
		t.Fatal(err)
	}
	if err := y.SetReadBuffer(128 << 10); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i ^ i>>8 ^ i>>16)
	}
	var bufs [][]byte
	for b := want; len(b) > 0; {
		n := min(len(b), 100+len(bufs)%400) // more than fit into one writev, of many lengths
		bufs = append(bufs, b[:n])
		b = b[n:]
	}
	n, err := x.TryWriteBatch(bufs)
	if n == 0 || n == size || err != nil {
		t.Fatalf("TryWriteBatch = %d of %d bytes, %v, though nobody reads", n, size, err)
	}
	written := make(chan error, 1)
	go func() {
		err := toetest.WriteBatch(x, [][]byte{want[n:]})
		x.CloseWrite() // so the reader does not wait for missing bytes
		written <- err
	}()
	got, err := io.ReadAll(y)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes of %d, the right ones: %t; %v", len(got), size, bytes.HasPrefix(want, got), err)
	}
	if err := <-written; err != nil {
		t.Errorf("WriteBatch = %v", err)
	}
}
