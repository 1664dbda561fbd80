// Package shm connects two devices of one host through memory that both share, instead of TCP. A
// connection is a toe.Stream, so MPA and all that is above it are the same as over TCP: the device
// that owns the memory of a program judges each access to it, and no device sees the memory of
// another program.
//
// A listener has a name that other processes of the same user find by the number of a TCP port. The
// end that dials makes the memory and passes it on through a unix socket. That socket and another
// one then stay: they wake a goroutine that waits for bytes or for room, and their end tells that
// the peer has closed the connection, or has died.
//
// # Why so
//
// Each direction is a ring of 512 KiB: a burst in a larger ring leaves the caches, and in a smaller
// one the two devices wait for each other more often. Whenever the ring is empty, the next byte
// goes to its front: after 60,000 short messages a connection had touched 16 KiB of memory, and 1
// MiB without that. An eventfd would cost less than a socket, but a peer could make a write to it
// block. One copy less would need a device that reaches the memory of another program.
//
// # Trust
//
// Only processes with the user of this one are connected: see package user. Nevertheless a peer is
// trusted no more than one behind TCP. It may write anything into the shared memory at any time.
// This end copies bytes out before anybody looks at them, and checks each number that it reads
// there. The memory cannot shrink. Where the kernel never overcommits memory, an access to it could
// fail all the same, and there are no connections. A listener listens to a few peers at once,
// however many there are.
package shm
