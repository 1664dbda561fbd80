// Package where finds the place in a program at which one of its threads makes a system call: the
// function, the file and the line of the first frame that belongs neither to rdma-core nor to the C
// library.
//
// The thread stands still meanwhile, because its call waits for an answer. So the kernel tells its
// stack pointer and where it is, in /proc, and its stack can be read. No debugger attaches.
//
// A [Finder] does this in two steps. [Finder.Site] reads the stack, which takes some microseconds,
// and returns a [Site], which is an address in a file. [Site.String] looks for the function and the
// line there, and takes milliseconds; most sites are never shown.
//
// What decides is in values that work on any [Memory]: space, the memory map of a process with the
// rules for frames, and walk, a walk along a stack. The frame tables are read from the memory of
// the program, because they are mapped, and so a program that has no file any more has them, too.
//
// Only the stack pointer and the program counter are known at the beginning. If the rule for a
// frame needs the frame pointer and no inner frame has saved it, the code of the function tells how
// large its frame is. If that is not certain, there is no site: a wrong place is worse than none.
//
// A program may be hostile. Whatever is read has a maximum size, a walk has a maximum length, and
// files are read by a child process, which has bounds of memory and time: see Stage.
package where
