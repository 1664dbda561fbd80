package extsock_test

import (
	"testing"

	"github.com/rddp/rddp/extsock"
)

// TestBacklogRoom: a Listener that shares its connections with another process accepts one
// connection for each call that waits. Any other Listener accepts until all seats are taken.
func TestBacklogRoom(t *testing.T) {
	for _, tt := range []struct {
		shared        bool
		calls, seated int
		want          bool
	}{
		{false, 0, 0, true},
		{false, 0, extsock.BacklogSize - 1, true},
		{false, 1, extsock.BacklogSize, false},
		{true, 0, 0, false},
		{true, 1, 0, true},
		{true, 1, 1, false},
		{true, 2, 1, true},
		{true, extsock.BacklogSize + 1, extsock.BacklogSize, false},
	} {
		if room := extsock.BacklogHasRoom(tt.shared, tt.calls, tt.seated); room != tt.want {
			t.Errorf("shared %t, %d calls, %d seated: room %t", tt.shared, tt.calls, tt.seated, room)
		}
	}
}
