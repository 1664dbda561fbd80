package proxy

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestAbortFlushes: bytes written before an abort arrive, even if TCP had not taken them yet. The
// end after them is not orderly.
func TestAbortFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket := extsock.Config{Startup: extsock.StartupRequire, Backend: simtoe.New(simtoe.Config{Window: 256, Delay: time.Millisecond})}
		l, err := extsock.Listen("tcp", "v:1", &socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		type result struct {
			n   int
			err error
		}
		read := make(chan result, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				read <- result{0, err}
				return
			}
			defer c.Close()
			b, err := io.ReadAll(c)
			read <- result{len(b), err}
		}()
		h, err := Dial(t.Context(), "v:1", &Config{Socket: socket})
		if err != nil {
			t.Fatal(err)
		}
		const n = 8 << 10
		for range n / 64 {
			if _, err := h.end.Write(make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
		}
		h.end.abort()
		if r := <-read; r.n != n || r.err == nil {
			t.Errorf("%d bytes of %d arrived, then %v", r.n, n, r.err)
		}
		time.Sleep(time.Minute) // the connections wait for a FIN in the background
	})
}
