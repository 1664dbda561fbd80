// Package driver runs a connection in DDP mode. It moves data between a Stream and a queue pair,
// and gives the program Read and Write on top of messages. It is the only package that sees all the
// layers.
//
// A [Driver] is made from one [Config] and ends by itself. DESIGN.md §2 follows a byte through the
// driver in both ways, and §3 describes its locks. These are its parts:
//
//	driver.go    what a Driver consists of
//
// Its logic is in values that start no goroutine, read no clock and never wait, so a test calls them
// in any order:
//
//	life.go      how far the connection has come
//	wayin.go     from bytes that have arrived to messages that are delivered
//	wayout.go    from Work Requests to FPDUs
//	box.go, boxstates.go, rest.go, lent.go
//	             the messages that wait for Read, within the memory of memory.go and window.go
//	states.go    the one way in which a state changes
//
// Around them stand the goroutines, the system calls and the time:
//
//	rx.go        reads the Stream, for the goroutine with the receive role
//	role.go, receive.go
//	             which goroutine that is, and what it does
//	bound.go     how long it may read
//	tx.go        writes to the Stream, for the holder of the transmit token
//	token.go, transmit.go
//	             which goroutine that is, and what it does
//	capture.go   what rx and tx show to a capture
//	inbox.go, reader.go
//	             the lock of the box, and the Reads that wait
//	look.go      what a program sees that looks without a Read
//	stream.go    the byte stream's rules (package bytestream) applied to both ways
//	read.go, streamwrite.go, operation.go
//	             the calls of the program that wait
//	reason.go    whether the connection ends, and why
//	ending.go    how both ways end
package driver
