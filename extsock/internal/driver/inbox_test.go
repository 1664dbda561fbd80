package driver

import (
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock/internal/bytestream"
)

// TestReaderWaitsForPlacement checks a reader whose deadline passes while DDP places a message in
// its memory. The reader gets that memory back only when the message has been placed or dropped.
// Otherwise bytes would arrive in memory that belongs to the program again.
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
				in := newInbox(6, 512)
				if found, _ := in.begin(make([]byte, 8)); found != waits {
					t.Fatalf("a Read of an empty inbox has found %d", found)
				}
				if _, _, answer := in.bind(make([]byte, 4), true); answer != bound || in.placingState() != placingDirect {
					t.Fatal("the message does not go to the reader's memory")
				}
				left := make(chan readResult, 1)
				go func() { left <- in.leave() }()
				synctest.Wait()
				select {
				case r := <-left:
					t.Fatalf("leave = %+v while a message is being placed", r)
				default:
				}
				tt.end(in)
				if r := <-left; r.n != tt.n || r.ok != tt.served {
					t.Errorf("leave = %+v, want %d, %t", r, tt.n, tt.served)
				}
			})
		})
	}
}

// placingState returns where the present message goes.
func (in *inbox) placingState() placingState {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.box.placing.state
}
