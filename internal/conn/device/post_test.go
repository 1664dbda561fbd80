package device

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// somePosts returns posts with one post for each of ops, whose ID is its index, and their
// completion queue.
func somePosts(t *testing.T, ops ...rnic.Op) (*posts, *rdmap.CompletionQueue) {
	t.Helper()
	cq := rdmap.NewCompletionQueue(len(ops))
	s := &posts{depth: len(ops)}
	for i, op := range ops {
		p := post{request: rnic.Request{Op: op}, cq: cq}
		p.completion.ID = uint64(i)
		if err := s.add(p); err != nil {
			t.Fatal(err)
		}
	}
	return s, cq
}

// ids takes the Completions that are in the queue.
func ids(cq *rdmap.CompletionQueue) (ids []uint64, got []rdmap.Completion) {
	var c [16]rdmap.Completion
	got = c[:cq.Poll(c[:])]
	for _, d := range got {
		ids = append(ids, d.ID)
	}
	return ids, got
}

// giveAll gives all posts, and returns how many the device gets.
func giveAll(s *posts) (n int) {
	for _, ok := s.give(); ok; _, ok = s.give() {
		n++
	}
	return n
}

// TestPostsCompleteInOrder: posts that a device completes out of order are reported in their order,
// once each.
func TestPostsCompleteInOrder(t *testing.T) {
	s, cq := somePosts(t, rnic.OpRead, rnic.OpWrite, rnic.OpRead, rnic.OpWrite)
	if n := giveAll(s); n != 4 {
		t.Fatalf("the device gets %d", n)
	}
	for _, step := range []struct {
		done uint64
		want []uint64
	}{{1, nil}, {3, nil}, {0, []uint64{0, 1}}, {2, []uint64{2, 3}}} {
		c := rnic.Completion{ID: postBit | step.done}
		if !s.owns(&c) {
			t.Fatal("a completion of nobody")
		}
		if err := s.completed(&c); err != nil {
			t.Fatal(err)
		}
		if got, _ := ids(cq); !slices.Equal(got, step.want) {
			t.Errorf("after %d: Completions %v, want %v", step.done, got, step.want)
		}
	}
	for _, id := range []uint64{1, 4, 1 << 40} {
		if err := s.completed(&rnic.Completion{ID: postBit | id}); !errors.Is(err, errCompletion) {
			t.Errorf("a completion of %d, which is not under way: %v", id, err)
		}
	}
	if got, _ := ids(cq); got != nil {
		t.Errorf("Completions %v", got)
	}
}

// TestPostsDoneTwice: a second completion of a post whose turn has not come is the device's error.
func TestPostsDoneTwice(t *testing.T) {
	s, cq := somePosts(t, rnic.OpRead, rnic.OpWrite)
	giveAll(s)
	for i, want := range []error{nil, errCompletion} {
		if err := s.completed(&rnic.Completion{ID: postBit | 1}); !errors.Is(err, want) {
			t.Errorf("completion %d: %v, want %v", i, err, want)
		}
	}
	if got, _ := ids(cq); got != nil {
		t.Errorf("Completions %v", got)
	}
}

// TestPostsFence: a fence holds back the posts behind it until the Reads before it are done.
func TestPostsFence(t *testing.T) {
	s, _ := somePosts(t, rnic.OpRead, rnic.OpWrite, rnic.OpWrite, rnic.OpWrite)
	s.ring.At(2).fence = true
	if n := giveAll(s); n != 2 || !s.areDue() {
		t.Fatalf("the device gets %d, want 2", n)
	}
	if err := s.completed(&rnic.Completion{ID: postBit | 1}); err != nil || giveAll(s) != 0 {
		t.Fatalf("behind the Write before the fence: %v, or the device gets more", err)
	}
	if err := s.completed(&rnic.Completion{ID: postBit}); err != nil {
		t.Fatal(err)
	}
	if n := giveAll(s); n != 2 || s.areDue() {
		t.Errorf("behind the Read the device gets %d, want 2", n)
	}
}

// TestPostsFlush: each post gets one Completion, with the reason, whatever the device has reported
// about it.
func TestPostsFlush(t *testing.T) {
	s, cq := somePosts(t, rnic.OpRead, rnic.OpWrite, rnic.OpWrite, rnic.OpWrite)
	s.ring.At(3).unsignaled = true
	s.ring.At(2).fence = true
	giveAll(s)
	if err := s.completed(&rnic.Completion{ID: postBit | 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.completed(&rnic.Completion{ID: postBit, Err: failure(rdmap.StatusFlushed)}); err != nil {
		t.Fatalf("what is flushed is no reason, but %v", err)
	}
	s.flush(io.EOF)
	list, got := ids(cq)
	if !slices.Equal(list, []uint64{0, 1, 2, 3}) {
		t.Fatalf("Completions %v", got)
	}
	for i, c := range got {
		if flushed := i != 1; flushed != (c.Status == rdmap.StatusFlushed) || flushed != (c.Err == io.EOF) { //nolint:errorlint // as flush was told
			t.Errorf("Completion %v", c)
		}
	}
	if s.areDue() {
		t.Error("something is still due")
	}
}

// TestPostsStatus: the Completion of a post that has failed has the status of its error, and no
// length.
func TestPostsStatus(t *testing.T) {
	for want := rdmap.StatusLocalLength; want <= rdmap.StatusGeneral; want++ {
		s, cq := somePosts(t, rnic.OpWrite)
		s.ring.First().completion.Len = 5
		giveAll(s)
		err := s.completed(&rnic.Completion{ID: postBit, Err: failure(want)})
		if _, got := ids(cq); err == nil || len(got) != 1 || got[0].Status != want || got[0].Err != err || got[0].Len != 0 { //nolint:errorlint // the same
			t.Errorf("%v, Completions %v, want %v", err, got, want)
		}
	}
}

// A failure is the error of a work request.
type failure rdmap.Status

func (failure) Error() string        { return "work" }
func (f failure) Kind() rdmap.Status { return rdmap.Status(f) }

// TestPostsFull: a post is refused if there is no room for it, or for its Completion.
func TestPostsFull(t *testing.T) {
	s, cq := somePosts(t, rnic.OpWrite, rnic.OpWrite)
	if err := s.add(post{cq: rdmap.NewCompletionQueue(1)}); !errors.Is(err, rdmap.ErrQueueFull) {
		t.Errorf("the third of two: %v", err)
	}
	s.ring.First().unsignaled = true
	giveAll(s)
	for i := range uint64(2) {
		if err := s.completed(&rnic.Completion{ID: postBit | i}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := ids(cq); !slices.Equal(got, []uint64{1}) {
		t.Errorf("Completions %v, want that of the one that is signaled", got)
	}
	one := rdmap.NewCompletionQueue(1)
	for i, want := range []error{nil, rdmap.ErrCompletionQueueFull} {
		if err := s.add(post{cq: one}); !errors.Is(err, want) {
			t.Errorf("post %d for a queue of one: %v, want %v", i, err, want)
		}
	}
}

// TestMachineHeld: while Work Requests of the program wait, no message overtakes them.
func TestMachineHeld(t *testing.T) {
	dials, accepts := newEnds(t)
	settle(dials, accepts)
	dials.m.held = true
	dials.m.tx.Post([]byte("behind"), 0)
	settle(dials, accepts)
	accepts.wantNothing()
	dials.m.held = false
	settle(dials, accepts)
	accepts.wantRead("behind", nil)
}

// TestMachineClosesBehindPosts: in message mode on an RNIC, where Close posts no Read of its own,
// it waits for the program's Work Requests.
func TestMachineClosesBehindPosts(t *testing.T) {
	m := newMachine(small)
	m.begin(peerConfig{messages: true, isRNIC: true})
	m.posted = 1
	if m.close(); m.life != ending {
		t.Fatalf("with a Work Request under way: %v", m.life)
	}
	m.posted = 0
	if m.settle(); m.life != over {
		t.Errorf("without one: %v", m.life)
	}
}
