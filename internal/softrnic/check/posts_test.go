package check

import "testing"

type placed string

func (s placed) String() string { return string(s) }

func text(s Site) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// TestPosts: a work request has the place of the doorbell behind its post, also where the ring
// begins anew, and where the device is faster than the doorbell.
func TestPosts(t *testing.T) {
	p := Posts{Slots: 4, Room: 3}
	takes := func(slot uint32, want string) Site {
		t.Helper()
		s := p.Takes(slot)
		if got := text(s); got != want {
			t.Errorf("the work request in slot %d was posted at %q, want %q", slot, got, want)
		}
		return s
	}
	first := p.Takes(1)
	p.Rings(2, 0, 2, 1, placed("a"))
	if p.At(3) != placed("a") || text(first) != "a" {
		t.Errorf("in slot 3 %v, before %v", p.At(3), first)
	}
	takes(2, "a")
	p.Rings(3, 1, 2, 1, placed("b"))
	takes(3, "a")
	takes(0, "b")
	early := p.Takes(1) // before the doorbell
	p.Rings(2, 2, 0, 1, placed("c"))
	if text(early) != "c" {
		t.Errorf("the work request that was taken early was posted at %q", text(early))
	}
	p.Rings(2, 3, 1, 1, placed("d"))
	if r := p.Rings(2, 3, 1, 1, placed("e")); r != PostRefused {
		t.Errorf("a post that was refused is %v", r)
	}
	takes(2, "d")
	other := p.Takes(3)
	p.Rings(0, 1, 1, 2, placed("f")) // another thread
	takes(0, "f")
	if text(other) != "f" {
		t.Errorf("the work request that was taken early was posted at %q", text(other))
	}
	never := p.Takes(1)
	p.Resets()
	if text(never) != "" {
		t.Errorf("the work request whose queue was reset was posted at %q", text(never))
	}
	p.Rings(1, 2, 1, 1, nil)
	takes(1, "")
}

// TestPostsLookedAtEarly: if the device looks at a work request before the doorbell, and also takes
// it before that, the doorbell tells its place.
func TestPostsLookedAtEarly(t *testing.T) {
	for _, taken := range []bool{false, true} {
		p := Posts{Slots: 4, Room: 3}
		for slot := range uint32(9) {
			slot %= p.Slots
			seen, again := p.At(slot), p.At(slot)
			from := slot
			if taken {
				if s := p.Takes(slot); s != seen {
					t.Errorf("taken: %v, seen before: %v", s, seen)
				}
				from = (slot + 1) % p.Slots
			}
			p.Rings(from, (slot+1)%p.Slots, 1, 1, placed("a"))
			for _, s := range []Site{seen, again} {
				if got := text(s); got != "a" { // text waits for seconds in vain
					t.Fatalf("taken: %t: slot %d was posted at %q", taken, slot, got)
				}
			}
			if !taken {
				if s := p.Takes(slot); s != placed("a") {
					t.Errorf("slot %d was posted at %v", slot, s)
				}
			}
		}
		never := p.At(1)
		p.Resets()
		if text(never) != "" {
			t.Errorf("the work request whose queue was reset was posted at %q", text(never))
		}
	}
}

// TestPostsOfThreads: if a doorbell comes behind that of another thread and tells of nothing new,
// that one has told of both posts, and nobody knows which is which.
func TestPostsOfThreads(t *testing.T) {
	p := Posts{Slots: 8, Room: 7}
	p.Rings(0, 2, 2, 1, placed("one of them"))
	p.Rings(0, 2, 2, 2, placed("the other one"))
	for slot := range uint32(2) {
		if s := p.Takes(slot); s != nil {
			t.Errorf("slot %d has %v", slot, s)
		}
	}
	p.Rings(2, 3, 1, 1, placed("one of them"))
	if s := p.Takes(2); s != nil {
		t.Errorf("later there is %v", s)
	}
}

// TestPostsWithoutDoorbell: if the ring has gone round before a doorbell has come, nothing waits
// for the place of the first work requests.
func TestPostsWithoutDoorbell(t *testing.T) {
	p := Posts{Slots: 4, Room: 3}
	first := p.Takes(1).(*late)
	second := p.Takes(1)
	select {
	case <-first.come:
	default:
		t.Error("the first one waits")
	}
	p.Rings(2, 2, 0, 1, placed("a"))
	if text(second) != "a" {
		t.Errorf("the second one was posted at %q", text(second))
	}
}

// TestPostsToFullQueue: a doorbell that tells of nothing new is behind a post that has been
// refused, for want of room if there was none at the doorbell before.
func TestPostsToFullQueue(t *testing.T) {
	p := Posts{Slots: 8, Room: 3}
	for _, tt := range []struct {
		desc           string
		from, to, used uint32
		want           Rung
	}{
		{"two", 0, 2, 2, PostTaken},
		{"a third one", 2, 3, 3, PostFills},
		{"no more", 3, 3, 3, PostDenied},
		{"no more, and places are free at the doorbell", 3, 3, 0, PostDenied},
		{"another one", 3, 4, 1, PostTaken},
		{"a list that has filled the room before places were free", 4, 6, 2, PostFills},
		{"a list entry too long", 6, 6, 2, PostRefused},
	} {
		if got := p.Rings(tt.from, tt.to, tt.used, 1, nil); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.desc, got, tt.want)
		}
	}
}
