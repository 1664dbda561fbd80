//go:build !386 && !arm && !mips && !mipsle

package extsock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// The heap is moved, and what is done with it then still works. Without a heap of whole blocks, or
// with a context that is done, nothing is.
func TestCollapseHeap(t *testing.T) {
	big := make([][]byte, 16)
	for i := range big {
		big[i] = make([]byte, 1<<20)
		for j := range big[i] {
			big[i][j] = byte(i + j)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := CollapseHeap(ctx); n != 0 || !errors.Is(err, context.Canceled) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("with a context that is done: %d bytes, %v", n, err)
	}
	n, err := CollapseHeap(t.Context())
	if errors.Is(err, errors.ErrUnsupported) {
		if n != 0 || !strings.Contains(err.Error(), "extsock: CollapseHeap: ") {
			t.Errorf("%d bytes, %v", n, err)
		}
		t.Skip(err)
	}
	if err != nil || n < 12<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if huge := inHugePages(t); huge < 12<<20 {
		t.Errorf("%d bytes are in huge pages, and CollapseHeap returned %d", huge, n)
	}
	for i := range big {
		for j := range big[i] {
			if big[i][j] != byte(i+j) {
				t.Fatalf("byte %d of block %d has changed", j, i)
			}
		}
	}
	runtime.KeepAlive(big)
}

// inHugePages returns the bytes of private memory of this process that are in huge pages.
func inHugePages(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "AnonHugePages: %d kB", &kb); err == nil {
			n += kb << 10
		}
	}
	return n
}

// The heap is what adjoins the object on both sides; other memory is left alone.
func TestHeapOf(t *testing.T) {
	const maps = `00400000-00600000 r-xp 00000000 fe:00 99                 /bin/program
00600000-00800000 rw-p 00000000 fe:00 99                 /bin/program
00800000-00c00000 rw-p 00000000 00:00 0
c000000000-c000800000 ---p 00000000 00:00 0
c000800000-c001000000 rw-p 00000000 00:00 0 
c001000000-c002000000 ---p 00000000 00:00 0              [anon: Go: heap reservation]
c002000000-c002400000 rw-p 00000000 00:00 0              [anon: Go: heap]
c002800000-c002c00000 rw-p 00000000 00:00 0
not a line of it
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
7ffc55753000-7ffc55774000 rw-p 00000000 00:00 0          [stack]
`
	own := []span{{0xc000800000, 0xc001000000}, {0xc002000000, 0xc002400000}}
	for _, tt := range []struct {
		object uintptr
		want   []span
	}{
		{0xc000800000, own},
		{0xc0023fffff, own},
		{0xc002400000, nil},
		{0xc002800000, []span{{0xc002800000, 0xc002c00000}}},
		{0x7f0000000010, []span{{0x7f0000000000, 0x7f0000200000}}},
		{0x400000, nil},
		{0x600000, nil},
		{0x7ffc55753000, nil},
	} {
		if got := heapOf(maps, tt.object); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%x: %x, want %x", tt.object, got, tt.want)
		}
	}
	if got := heapOf("", 1); got != nil {
		t.Errorf("of nothing: %x", got)
	}
}
