// Package kernel is the toe.Backend on the operating system's TCP, and on its unix sockets.
//
// [Backend] dials and listens; [New] and [NewUnix] make a Stream of a connection that exists
// already. Nagle's algorithm is off for TCP (TCP_NODELAY): MPA writes whole FPDUs, and "MPA
// transmitters SHOULD also use whatever facilities the TCP stack presents to cause the TCP
// transmitter to start TCP segments at FPDU boundaries" (RFC 5044 §5.1).
//
// # Linux
//
// A [Stream] knows its EMSS. It and a [UnixStream] write a batch with one sendmsg for every 1024
// slices. ReadSegment makes one system call if there is something to read. Nothing is read ahead,
// so an idle connection holds no buffer. No method allocates, except for errors; the iovecs come
// from a pool. The package uses file descriptors through syscall.RawConn only, which keeps them
// from being reused during a call.
//
// If both ends of a TCP connection are on this machine, the first long batch sets the send buffer
// to 1 MiB, because data that wait in a larger one leave the CPU's cache: with both ends on one CPU
// and rings of 16 MiB, Writes of 1 MiB rose from 0.69 to 0.77 of plain TCP (cubic). A size that the
// program has chosen with SetWriteBuffer is kept, and the program may choose one at any time.
// Kernels before Linux 5.14, and systems whose net.core.wmem_max is less than 1 MiB, keep the
// automatic size.
//
// # Watching a socket
//
// Go's netpoller wakes a goroutine that waits in it for a socket, and has no other way to report
// the socket. So a watched socket is also in an epoll instance of this package, and one goroutine
// of the process waits for its events: see watch and watcher. A report is late while no thread
// waits in the netpoller, for example because the thread that waited runs a program that computes.
// Three things prevent that:
//
//   - Reads that have waited are visible to the scheduler, or a timer of 20 ms keeps the runtime's
//     monitor awake: see beat. A timer of 5 ms cost 7 to 10 % more processor time per atomic.
//   - Arming a watch makes a second goroutine ready, so that the runtime wakes a thread for it.
//   - After 64 watches without a report the second goroutine waits for reports itself, in a thread
//     of its own, unless the runtime has one processor.
//
// Without them an operation of the peer waited for the end of the program's computation. With the
// first one its median was 8 ms, and with the first two 0.1 ms (TestOperationsOfABusyProgram).
//
// # Other systems
//
// A Stream is the adapter of toe/netconn over a *net.TCPConn: EMSS is a constant, ReadSegment reads
// up to 4 KiB ahead, and TryWriteBatch copies into a send buffer of the process.
//
// # Limits
//
// EMSS asks the kernel once in 64 calls, so it returns a new path MTU late. A unix socket has no
// segments; its EMSS is toe.DefaultEMSS.
//
// When a write reports that the connection was reset, Linux shows a plain end of stream to readers
// afterwards. ReadSegment returns the writer's error then, but Read does not.
//
// ReadSegment changes SO_RCVLOWAT of a TCP socket while it is patient. The value is 1 while
// ReadSegment waits, and may be high after ReadSegment has returned.
package kernel
