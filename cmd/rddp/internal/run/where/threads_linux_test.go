//go:build amd64 || arm64

package where

import (
	"os"
	"testing"
)

const fakePID = 7

// kept returns a thread of the process fakePID with the memory map of a static program.
func kept(t *testing.T) *thread {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &thread{pid: fakePID, call: f, space: newSpace([]byte(fakeStatic)), fresh: true}
}

// keep does what Site does at its end.
func (f *Finder) keep(tid int, t *thread, since uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepLocked(tid, t, since)
}

func (f *Finder) has(tid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.threads[tid] != nil
}

// TestThreadWithoutMap: a thread whose memory map cannot be read is not kept, and what its process
// gives up later does no harm.
func TestThreadWithoutMap(t *testing.T) {
	f := New()
	defer f.Close()
	x := kept(t)
	x.space = nil
	f.keep(1, x, 0)
	f.Gives(fakePID, fakeCode, 4096)
	if f.has(1) {
		t.Error("the thread is kept")
	}
}

// TestLeastUsedThread: the thread that was not looked at for the longest time makes room for a new
// one.
func TestLeastUsedThread(t *testing.T) {
	f := New()
	defer f.Close()
	for tid := range maxThreads {
		f.keep(tid, kept(t), 0)
	}
	f.mu.Lock()
	first := f.threads[0]
	delete(f.threads, 0)
	f.mu.Unlock()
	f.keep(0, first, 0)
	last := kept(t)
	f.keep(maxThreads, last, 0)
	if !f.has(0) || f.has(1) || !f.has(2) || !f.has(maxThreads) {
		t.Errorf("kept: 0: %t, 1: %t, 2: %t, the last: %t; want all but 1", f.has(0), f.has(1), f.has(2), f.has(maxThreads))
	}
}

// TestOldMap: a memory map is not used again if it may have code that the process has given up.
func TestOldMap(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		pid   int
		addr  uint64
		since uint64 // 0 if the process gives up memory while the thread is looked at
		fresh bool   // the map was read since
		want  bool   // it is kept
	}{
		{"code, meanwhile", fakePID, fakeCode, 0, false, false},
		{"code, meanwhile, and a new map", fakePID, fakeCode, 0, true, false},
		{"code, a moment ago, and a new map", fakePID, fakeCode, 1, true, false},
		{"code, before an old map", fakePID, fakeCode, 1, false, true},
		{"other memory, meanwhile", fakePID, fakeStack, 0, true, true},
		{"another process, meanwhile", fakePID + 1, fakeCode, 0, true, true},
	} {
		f := New()
		f.Gives(tt.pid, tt.addr, 4096)
		x := kept(t)
		x.fresh = tt.fresh
		f.keep(1, x, tt.since)
		if got := f.has(1); got != tt.want {
			t.Errorf("%s: the map is kept: %t, want %t", tt.desc, got, tt.want)
		}
		f.Close()
	}
	f := New()
	defer f.Close()
	f.Gives(fakePID, fakeCode, 4096)
	for range maxOld { // other code is there by now
		f.keep(1, kept(t), 1)
	}
	if f.keep(1, kept(t), 1); !f.has(1) {
		t.Error("no map is ever kept again")
	}
	for range maxGiven + 1 { // what was given up is not known any more
		f.Gives(fakePID+1, 0, 1)
	}
	if f.keep(2, kept(t), 1); f.has(2) {
		t.Error("a map is kept without knowledge of what was given up")
	}
}
