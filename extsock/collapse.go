package extsock

import (
	"context"
	"fmt"
)

// CollapseHeap moves the heap of this process, and with it the stacks of its goroutines, into huge
// pages, and returns how many bytes of them are in such pages now. A server calls it after its
// connections are open, and again when there are more. No other function of this package does it,
// because it changes the memory of the whole program.
//
// A message touches tens of pages of its connection. Beside hundreds of connections, and after a
// pause, the processor has forgotten where they are, and in a virtual machine it may need half a
// microsecond for each to find out. A huge page is one page in place of 512. `rddp perf` measures
// what a page costs on a machine, and docs/performance.md has figures with and without.
//
// The price:
//
//   - Memory: a block of 2 MiB is moved if at least half of it is in RAM, and then all of it is. So
//     the resident memory of the heap at most doubles. With 2,000 ends of connections it grew by
//     half.
//   - Time: milliseconds for each block, 2 to 6 on a virtual machine. Goroutines go on meanwhile,
//     but one that touches the block that is being moved, or a page for the first time, waits
//     until the block has moved. CollapseHeap looks at ctx between two blocks. A block that is a
//     huge page already takes microseconds.
//   - It does not last by itself. Memory that the garbage collector returns to the system is in
//     small pages when it is used again, and so is what the heap grows by. debug.FreeOSMemory
//     undoes much of it.
//
// The code of the program stays in small pages. Linux could move it only with the kernel option
// CONFIG_READ_ONLY_THP_FOR_FS, or if the program's file is in a tmpfs.
//
// The error matches errors.ErrUnsupported if the system cannot: it is not Linux 6.1 or later, its
// kernel has no transparent huge pages, or they are switched off for this process. Other errors are
// those of the system, such as ENOMEM if there is no free huge page, and ctx.Err. With an error, a
// part of the heap may have moved.
func CollapseHeap(ctx context.Context) (n int64, err error) {
	if n, err = collapseHeap(ctx); err != nil {
		err = fmt.Errorf("extsock: CollapseHeap: %w", err)
	}
	return n, err
}
