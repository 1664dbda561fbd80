package kernel

import (
	"bytes"
	"io"
	"testing"
)

// TestWriteBatchOverSeveralWritevs: a batch for which the send buffer has no room at first is not done before all of it has
// been written, and arrives whole and in order.
func TestWriteBatchOverSeveralWritevs(t *testing.T) {
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
	w := writers.Get().(*writer)
	for b := want; len(b) > 0; {
		n := min(len(b), 100+len(w.bufs)%400) // more than fit into one writev, of many lengths
		w.bufs = append(w.bufs, b[:n])
		b = b[n:]
	}
	control(t, x, func(fd int) error {
		if w.writev(uintptr(fd)) || w.n == 0 {
			t.Fatalf("the batch is done with %d octets of %d, though nobody reads", w.n, size)
		}
		return nil
	})
	written := make(chan error, 1)
	go func() { // the rest, as WriteBatch does it
		_, err := x.finish(w, x.raw.Write(w.untilDone))
		x.CloseWrite() // so the reader does not wait for what is missing
		written <- err
	}()
	got, err := io.ReadAll(y)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d octets of %d, the right ones: %t; %v", len(got), size, bytes.HasPrefix(want, got), err)
	}
	if err := <-written; err != nil {
		t.Errorf("WriteBatch = %v", err)
	}
}
