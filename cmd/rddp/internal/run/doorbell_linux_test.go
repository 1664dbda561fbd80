//go:build amd64 || arm64

package run

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// rungFile returns a file that d watches.
func rungFile(t *testing.T, d *doorbell) *openFile {
	t.Helper()
	dev, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	f, err := newFile(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(f.memory); unix.Close(f.fd) })
	if f.ctx, err = dev.Open(f.deviceMemory()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.remove(f) // waits for a look that is under way, before the memory is unmapped
		f.ctx.Close()
	})
	if err := d.add(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDoorbellOverflow: when the kernel has dropped notifications, the doorbell looks at all files.
func TestDoorbellOverflow(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDoorbell()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	one, two, three := rungFile(t, d), rungFile(t, d), rungFile(t, d)
	ring := func(f *openFile) {
		if _, err := unix.Write(f.fd, make([]byte, 32)); err != nil {
			t.Error(err)
		}
	}
	func() {
		d.mu.Lock() // so it handles at most one batch
		defer d.mu.Unlock()
		for range most/2 + 100 {
			ring(one)
			ring(two)
		}
		ring(three)
		three.rings.Store(7)
	}()
	prototest.Wait(t, "a look at the file whose notification was dropped", func() bool {
		return three.rings.Load() == 0
	})
	prototest.Wait(t, "the end of the notifications", func() bool {
		left := 1
		d.control(func(fd int) { left, err = unix.IoctlGetInt(fd, unix.TIOCINQ) })
		return left == 0
	})
	if at, err := unix.Seek(one.fd, 0, 1); err != nil || at > bellAt+bellRange {
		t.Errorf("the offset of a file stays at %d, %v", at, err)
	}
}

// TestDoorbellWithoutOffset: when the offset of a file cannot be read, the next ring is not
// affected.
func TestDoorbellWithoutOffset(t *testing.T) {
	d, err := newDoorbell()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	f := rungFile(t, d)
	f.rings.Store(seekEvery)
	fd := f.fd
	f.fd = -1
	f.ring()
	f.fd = fd
	if got := heard(f); got != bellAt {
		t.Errorf("heard up to %d, want %d", got, bellAt)
	}
}

// heard returns the offset up to which the doorbells of f have been handled.
func heard(f *openFile) int64 {
	f.bell.Lock()
	defer f.bell.Unlock()
	return f.heard
}

// TestDoorbellOfSlowFile: while a look at the work requests of one program waits for its memory,
// the doorbells of others are heard. Those of the program itself are heard afterwards.
//
// +checklocksignore: the test holds the lock as a look that waits would
func TestDoorbellOfSlowFile(t *testing.T) {
	d, err := newDoorbell()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	slow, other := rungFile(t, d), rungFile(t, d)
	ring := func(f *openFile) {
		f.rings.Store(seekEvery) // so the look is one at the offset, too
		if _, err := unix.Write(f.fd, make([]byte, 32)); err != nil {
			t.Error(err)
		}
	}
	slow.bell.Lock()
	ring(slow)
	prototest.Wait(t, "the slow look", func() bool { return slow.ringing.Load() > 0 })
	for range 3 {
		ring(other)
		prototest.Wait(t, "a look at another file", func() bool { return other.rings.Load() == 0 })
	}
	ring(slow)
	prototest.Wait(t, "the doorbell of the slow file", func() bool { return slow.ringing.Load() > 1 })
	slow.bell.Unlock()
	prototest.Wait(t, "the end of the slow look", func() bool { return slow.ringing.Load() == 0 })
	if got, want := heard(slow), int64(bellAt+2*32); got != want {
		t.Errorf("heard up to %d, want %d", got, want)
	}
}

// TestDoorbellBatch: each file that the notifications of one read name is taken, once. So a look
// that waits for a program keeps none of the others.
func TestDoorbellBatch(t *testing.T) {
	one, two := new(openFile), new(openFile)
	d := &doorbell{files: map[int32]*openFile{1: one, 2: two}}
	var events []byte
	for _, watch := range []int32{1, 2, 1, 3} { // nobody has the last one any more
		events = append(events, bytesOf(&unix.InotifyEvent{Wd: watch, Mask: unix.IN_MODIFY})...)
	}
	d.note(events)
	for i, want := range []*openFile{one, two, nil} {
		if got := d.take(); got != want {
			t.Errorf("file %d is %p, want %p", i, got, want)
		}
	}
	if one, two := one.rings.Load(), two.rings.Load(); one != 2 || two != 1 {
		t.Errorf("%d and %d notifications, want 2 and 1", one, two)
	}
}

// TestDoorbellWithoutDescriptor: when this process has no free descriptor, doorbells are heard.
//
// +checklocksignore: the test holds the lock as a look that waits would
func TestDoorbellWithoutDescriptor(t *testing.T) {
	d, err := newDoorbell()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	slow, other := rungFile(t, d), rungFile(t, d)
	ring := func(f *openFile) {
		f.rings.Store(seekEvery)
		if _, err := unix.Write(f.fd, make([]byte, 32)); err != nil {
			t.Error(err)
		}
	}
	ring(other)
	prototest.Wait(t, "the first doorbell", func() bool { return other.rings.Load() == 0 })
	slow.bell.Lock()
	defer slow.bell.Unlock()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	restore := func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }
	defer restore()
	ring(slow)
	prototest.Wait(t, "the slow look", func() bool { return slow.ringing.Load() > 0 })
	ring(other)
	prototest.Wait(t, "a doorbell without a descriptor", func() bool { return other.rings.Load() == 0 })
	restore()
	ring(other)
	prototest.Wait(t, "a doorbell afterwards", func() bool { return other.rings.Load() == 0 })
}
