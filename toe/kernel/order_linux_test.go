package kernel

import (
	"testing"

	"github.com/rddp/rddp/toe/toetest"
)

// TestReadComesAfterWrite checks that a goroutine that reads from one end may then read memory that
// the other goroutine wrote before it wrote to the connection, as with package net. The test is
// meaningful only under the race detector, which must see that order.
func TestReadComesAfterWrite(t *testing.T) {
	batch := func(s *Stream) error { return toetest.WriteBatch(s, [][]byte{{1}}) }
	segment := func(s *Stream) error { _, _, err := toetest.ReadSegment(s, make([]byte, 1)); return err }
	for _, tt := range []struct {
		desc        string
		write, read func(s *Stream) error
	}{
		{"both by the Stream", batch, segment},
		{"the write by package net", func(s *Stream) error { _, err := s.Write([]byte{1}); return err }, segment},
		{"the read by package net", batch, func(s *Stream) error { _, err := s.Read(make([]byte, 1)); return err }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, b := pairOf(t, &Backend{})
			memory := 0
			wrote := make(chan error, 1)
			go func() {
				memory = 1
				wrote <- tt.write(a)
			}()
			if err := tt.read(b); err != nil {
				t.Error(err)
			}
			if memory != 1 {
				t.Errorf("the reader sees %d", memory)
			}
			if err := <-wrote; err != nil {
				t.Error(err)
			}
		})
	}
}
