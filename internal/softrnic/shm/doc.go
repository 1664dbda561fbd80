// Package shm connects two devices of one host through shared memory instead of TCP. A connection
// is a toe.Stream, so MPA and the layers above it are the same as over TCP: the device of a program
// checks each access to the program's memory, and no device sees the memory of another program.
//
// Other processes of the same user find a listener by the number of a TCP port. The dialing end
// makes the memory and passes it through a unix socket. That socket and a second one stay open.
// They wake goroutines that wait for bytes or for room, and their end of file shows that the peer
// has closed the connection or has died.
//
// Two devices of one process, which is the rule under one rddp run, have the same connection in
// memory of the process.
//
// # Design
//
// Each direction is a ring of 512 KiB. With a larger ring, a burst does not fit into the caches;
// with a smaller one, the two devices wait for each other more often. Whenever the ring is empty,
// the next byte goes to its front. So after 60,000 short messages a connection had touched 16 KiB
// of memory, instead of 1 MiB. An eventfd would cost less than a socket, but a peer could make a
// write to it block.
//
// Long payload does not go through the ring, which has its headers only. The writer has it copied
// from its program to a parcel, a piece of 64 KiB of the same memory, and the reader from there to
// its program. So a long RDMA Write or Read is copied twice. The parcels of a direction are 32. If
// none is free, or if the reader wants it, the payload is copied once more. The lowest free parcel
// is the next one, so parcels stay in the caches, too, and take no more memory than has been under
// way at once.
//
// # Trust
//
// Only processes of the same user can connect: see package user. Nevertheless, a peer is trusted no
// more than a peer behind TCP. It may write anything into the shared memory at any time. This end
// copies bytes out before it uses them, and checks each number that it reads there. Payload in a
// parcel is never used here, but only copied to where it goes; all headers come through the ring. A
// parcel that is in use keeps the memory mapped when the connection has ended. The memory cannot
// shrink. If the kernel never overcommits memory, an access could still fail, so then there
// are no connections. A listener handles only a limited number of hellos at the same time.
package shm
