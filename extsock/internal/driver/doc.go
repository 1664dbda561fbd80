// Package driver runs a connection in DDP mode. It moves data between a Stream and a queue pair,
// and gives the program Read and Write on top of messages. It is the only package that sees all the
// layers.
//
// A [Driver] is made from one [Config] and ends by itself. DESIGN.md §2 follows a byte through the
// driver in both ways, and §3 describes its locks. These are its parts:
//
//	driver.go    what a Driver consists of
//	life.go      how far the connection has come: one state
//	receive.go   the way in: from the Stream to the queue pair
//	role.go      which goroutine receives
//	transmit.go  the way out: from the queue pair to the Stream
//	inbox.go     messages that wait for Read, within the memory of memory.go and window.go
//	stream.go    the byte stream's rules (package bytestream) applied to both ways
//	read.go, streamwrite.go, operation.go
//	             the calls of the program that wait
//	ending.go    how both ways end
package driver
