package dissect

import (
	"testing"
	"time"
)

// TestFullTable: a connection without room takes no more time than another one.
func TestFullTable(t *testing.T) {
	d := &dissector{emit: func(Record) error { return nil }, connections: map[pair]*connection{}}
	start := time.Now()
	fill(t, d, maxConnections, true)
	room := time.Since(start)
	start = time.Now()
	for i := range uint32(maxConnections) {
		if c, _ := d.connection(segmentFrom(maxConnections+i), time.Time{}); c != nil {
			t.Fatal("there is room")
		}
		if time.Since(start) > 20*room {
			t.Fatalf("%d connections without room took %v, and %d with room %v", i+1, time.Since(start), maxConnections, room)
		}
	}
}
