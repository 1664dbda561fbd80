package rdmap

import "testing"

// TestMakeRoomKeepsPositions: whichever requests leave the send queue before their turn, its
// positions still point to the same requests.
func TestMakeRoomKeepsPositions(t *testing.T) {
	const n = 4
	for gone := range uint(1 << n) {
		for was := range uint64(n + 1) {
			var s sendQueue
			s.init(n)
			before, kept := uint64(0), 0 // requests that stay in front of was, and in all
			for i := range uint64(n) {
				leaves := gone>>i&1 == 1
				*s.ring.Push() = &sendEntry{id: i, done: leaves, completed: leaves, progress: handed}
				if leaves {
					s.early++
					continue
				}
				if kept++; i < was {
					before++
				}
			}
			head := s.ring.Head()
			s.sent, s.next, s.awaited = head+was, head+was, head+was
			if room := s.makeRoom(); room != (gone != 0) || s.ring.Len() != kept || s.early != 0 {
				t.Errorf("leaving %04b: room %t, %d requests are left, %d of them early", gone, room, s.ring.Len(), s.early)
			}
			if want := s.ring.Head() + before; s.sent != want || s.next != want || s.awaited != want {
				t.Errorf("leaving %04b: position %d became %d, %d and %d, want %d", gone, was, s.sent, s.next, s.awaited, want)
			}
		}
	}
}
