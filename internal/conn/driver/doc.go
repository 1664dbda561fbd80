// Package driver runs a connection in DDP mode. It moves data between a Stream and a queue pair,
// and gives the program Read and Write on top of messages. It is the only package that sees all the
// layers.
//
// A [Driver] is made from one [Config] and ends by itself. DESIGN.md follows an RDMA Write through
// the driver in both ways, says what the receive role and the transmit token are for, and has the
// order of locks. Each file calls only files that are below it in this list, except that
// transmit.go and ending.go need each other. These are the calls of the program and of the
// goroutines, as methods of the Driver:
//
//	new.go       how the parts are joined
//	read.go, look.go, operation.go, post.go
//	             the calls of the program
//	receive.go, home.go
//	             what the goroutine with the receive role does, and what only home does
//	ending.go    how both ways end
//	transmit.go  what the goroutine with the transmit token does
//	driver.go    which parts a Driver consists of
//
// These are its parts. They make system calls, read clocks, or let goroutines wait:
//
//	streamwrite.go, longwrite.go
//	             Write on a byte stream: of a few bytes, and any other
//	streamreceiver.go
//	             reads the Stream, for the goroutine with the receive role
//	streamsender.go
//	             writes to the Stream, for the holder of the transmit token
//	role.go, rolealarm.go, token.go
//	             which goroutine that is
//	reader.go, receivedelivery.go, lockeddelivery.go
//	             the Reads that wait, and the lock of the delivery
//	postponed.go, doorbell.go
//	             the Work Requests that wait for more of them
//	stream.go, bytestream.go
//	             the byte stream's rules (package bytestream) applied to both ways
//	endreason.go, endpanics.go
//	             whether the connection ends, and why; what a panic does
//	bound.go, idle.go, patience.go, calls.go
//	             how long it reads, is idle, and polls
//
// Its logic is in values that start no goroutine, read no clock and never wait, so a test calls
// them in any order:
//
//	receiver.go  from bytes that have arrived to messages that are delivered
//	sender.go    from Work Requests to FPDUs
//	placing.go, grant.go, rest.go, taking.go, delivery.go, deliverystates.go
//	             where messages for Read go, within the memory of memory.go, pools.go, allowance.go
//	             and window.go; package inbox keeps the unread ones
//	reading.go, trust.go
//	             who reads, and whether the next Read will be back soon
//	life.go      how far the connection has come
//
// The linker keeps the order of the files by name, and of the functions in a file. What every
// message runs is in the files from operation.go to trust.go, and what is rare is in the others as
// far as that reads well: after a pause, or among many connections, each page of code that a
// message touches takes longer than the code on it.
//
// # Figures behind the decisions
//
// Round trips are of 64 bytes between two processes over loopback, on a virtual machine with two
// cores, with the congestion control that is named.
//
//   - A Read that receives by itself: 29 to 32 µs for a round trip on one core, and 50 to 57 µs
//     when one goroutine received and woke the reader (plain TCP: 21 µs; cubic).
//   - The watch while nobody reads: a peer's RDMA Read after a few messages took 37 to 109 µs
//     (median), and 15 to 20 ms with a timer in its place (BenchmarkOneSidedAfterMessages, bbr).
//   - The alarm is due after 5 ms, because a timer that is due soon makes each wait of the
//     process's threads more expensive: the 29 to 32 µs were 36 µs with a timer of 1 ms.
//   - A late Read takes at most half of its kind's streak. When each late Read took half, an echo
//     of 64 KiB on two busy CPUs had 0.6 to 0.8 of the rate. With one streak for filled and
//     unfilled Reads, an echo of 512 KiB was a third slower (cubic).
//   - A trusted Read that waits for more than 400 µs arms the watch if it is the only one: the
//     first one-sided operation beside a program that computes then takes 0.2 to 0.6 ms, and took 6
//     to 15 ms. If all of 64 busy connections armed it, they had 0.38 to 0.56 of plain TCP's round
//     trips instead of 0.74 to 0.89 (bbr).
//   - Beside other connections a watch that ends soon costs no system call (package toe/kernel): the
//     first 60 echoes of 1 KiB of each of 1,000 connections, whose Reads are not trusted yet, took
//     14.3 to 16.7 µs of processor time at both ends, and 18.3 to 18.8 µs before that (bbr).
//   - A Write that waits for TCP only does not call the home goroutine: an echo of 1 MiB had 0.46
//     of plain TCP's rate with that call, and has 0.56 (one CPU, cubic).
//   - Polling for bulk data takes 6 to 23 % of a stream's time from a peer on the same CPU (cubic).
//     A high SO_RCVLOWAT while a Read polls: 5 µs instead of 15 µs for half a round trip on two
//     CPUs.
//   - An echo of 64 bytes takes 5 pairs of lock and unlock at each end in message mode, and 8 in
//     the byte stream (TestLockPairsOfAnEcho). A request that is posted alone therefore uses a
//     completion queue of depth 1, which takes no lock.
//   - Reading with readv into the Read's memory gained nothing: the kernel lost what the process
//     saved.
//   - Copying Writes of 1 MiB in a burst took more time than the system calls that it saved.
//   - A copy of 64 MiB under the inbox's lock took 0.4 s on a busy machine, so a grant is not
//     longer.
package driver
