package locks

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The list in DESIGN.md is the order that race builds assert.
func TestOrderIsThatOfDesign(t *testing.T) {
	design, err := os.ReadFile("../../DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([A-Za-z]+)` ").FindAllSubmatch(design, -1) {
		listed = append(listed, string(m[1]))
	}
	if !slices.Equal(listed, names[:]) {
		t.Errorf("DESIGN.md lists the locks\n%v, the ranks are\n%v", listed, names)
	}
}

func TestRankNames(t *testing.T) {
	for _, tt := range []struct {
		r    Rank
		want string
	}{
		{Backlog{}, "Backlog"}, {Conn{}, "Conn"}, {Startup{}, "Startup"}, {Writer{}, "Writer"}, {Token{}, "Token"},
		{Borrowed{}, "Borrowed"}, {ByteStream{}, "ByteStream"}, {Inbox{}, "Inbox"}, {Life{}, "Life"}, {ReadBound{}, "ReadBound"}, {Regions{}, "Regions"},
		{Door{}, "Door"}, {Idle{}, "Idle"}, {Records{}, "Records"}, {Live{}, "Live"},
		{Capture{}, "Capture"}, {Signal{}, "Signal"}, {Deadline{}, "Deadline"}, {PostRecv{}, "PostRecv"}, {QP{}, "QP"},
		{SharedQueue{}, "SharedQueue"}, {Completions{}, "Completions"}, {Doorbells{}, "Doorbells"}, {Windows{}, "Windows"}, {Region{}, "Region"},
		{Queue{}, "Queue"}, {Domain{}, "Domain"}, {Keys{}, "Keys"}, {Network{}, "Network"}, {Buffered{}, "Buffered"},
		{Simulator{}, "Simulator"}, {UserTCP{}, "UserTCP"}, {Tap{}, "Tap"}, {Flow{}, "Flow"}, {Packets{}, "Packets"},
		{Watch{}, "Watch"}, {Watcher{}, "Watcher"},
	} {
		if got := tt.r.rank().String(); got != tt.want {
			t.Errorf("%T has the rank %v", tt.r, got)
		}
	}
}
