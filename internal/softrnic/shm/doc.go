// Package shm connects two devices of one host through shared memory instead of TCP. A connection
// is a toe.Stream, so MPA and the layers above it are the same as over TCP: the device of a program
// checks each access to the program's memory, and no device sees the memory of another program.
//
// Other processes of the same user find a listener by the number of a TCP port. The dialing end
// makes the memory and passes it through a unix socket. That socket and a second one stay open.
// They wake goroutines that wait for bytes or for room, and their end of file shows that the peer
// has closed the connection or has died.
//
// Two devices of one process, which is the rule under one rddp run, have the same connection, but
// long payload is not copied into a ring. The reader gets the memory that the payload is in: see
// Parcel. So a long RDMA Write or Read is copied twice, out of one program and into the other.
//
// # Design
//
// Each direction is a ring of 512 KiB. With a larger ring, a burst does not fit into the caches;
// with a smaller one, the two devices wait for each other more often. Whenever the ring is empty,
// the next byte goes to its front. So after 60,000 short messages a connection had touched 16 KiB
// of memory, instead of 1 MiB. An eventfd would cost less than a socket, but a peer could make a
// write to it block.
//
// # Trust
//
// Only processes of the same user can connect: see package user. Nevertheless, a peer is trusted no
// more than a peer behind TCP. It may write anything into the shared memory at any time. This end
// copies bytes out before it uses them, and checks each number that it reads there. The memory
// cannot shrink. If the kernel never overcommits memory, an access could still fail, so then there
// are no connections. A listener handles only a limited number of hellos at the same time.
package shm
