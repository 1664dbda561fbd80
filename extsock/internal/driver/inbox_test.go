package driver

import (
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock/internal/bytestream"
)

// TestReaderWaitsForPlacement: a reader whose deadline passes while a message is being placed in its memory gets that memory
// back only when the message is there, or has been dropped. Else octets would come into memory that is the program's again.
func TestReaderWaitsForPlacement(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		end    func(in *inbox)
		n      int
		served bool
	}{
		{"the message is placed", func(in *inbox) { in.accept(4, bytestream.DataBuffer) }, 4, true},
		{"the stream ends first", (*inbox).unbind, 0, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newInbox(nil, nil, 6, 512)
				in.await(make([]byte, 8))
				in.mu.Lock()
				in.used, in.placing, in.toReader = 1, true, true
				if _, ok := in.bindLocked(4, 512, true, nil); !ok || !in.direct {
					t.Fatal("the message does not go to the reader's memory")
				}
				in.mu.Unlock()
				type result struct {
					n      int
					served bool
				}
				left := make(chan result, 1)
				go func() {
					n, served := in.leave()
					left <- result{n, served}
				}()
				synctest.Wait()
				select {
				case r := <-left:
					t.Fatalf("leave = %d, %t while a message is being placed", r.n, r.served)
				default:
				}
				tt.end(in)
				if r := <-left; r.n != tt.n || r.served != tt.served {
					t.Errorf("leave = %d, %t, want %d, %t", r.n, r.served, tt.n, tt.served)
				}
			})
		})
	}
}
