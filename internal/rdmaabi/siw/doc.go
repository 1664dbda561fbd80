// Package siw implements the queues of the kernel's iWARP driver siw: arrays of entries of the same
// length in memory that the kernel and a program share. It also parses the data that the driver
// adds to the answers of commands.
//
// Unlike a ring of rxe, a queue has no indices in its memory. An entry is valid if a flag in it is
// set. The side that makes the entry sets the flag, and the other side clears it to free the place.
//
//	send     0 number    8 flags, segments, operation    12 key       16 the peer's address    24 segments
//	receive  0 number    8 flags, segments                                                     16 segments
//	done     0 number    8 flags, operation, status      12 bytes     24 queue pair
//
// A segment is an SGE of package uverbs. The 32 bits at 8 are read and written atomically.
package siw
