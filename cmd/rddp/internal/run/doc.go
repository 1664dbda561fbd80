// Package run is the command rddp run: it runs an unchanged program and gives it an RDMA device,
// without hardware, a kernel module or root.
//
// The program keeps its own libibverbs and its providers. The supervisor, which is this process,
// answers what the kernel would: the files of the device in /sys and /dev, and the commands on
// /dev/infiniband/uverbs0 and rdma_cm. The device looks like the one of the rxe driver. Package
// seccomp brings the calls, packages internal/rdmaabi/uverbs and ucma decode them, package device
// is the device, package cm connects its queue pairs, and package process reaches the program's
// memory.
//
// The supervisor also carries TCP connections of the program over DDP, if package rules chooses
// them, by the means of package proxy.
//
// # Calls and files
//
//   - The kernel's interface is replaced, not a library. Every version of rdma-core speaks it, and
//     static programs do. Private symbols of libibverbs change with each release.
//   - The device looks like rxe, because rxe's provider is found by name, needs no mapped hardware,
//     and has atomics, immediate data, shared receive queues and UD.
//   - Commands come by the ioctl INVOKE_WRITE. libibverbs asks for it by a call that must fail with
//     ENOSPC, and uses it for everything from then on.
//   - One goroutine answers the calls, one after the other; after 20 ms another one goes on,
//     because an answer may wait for a page of the program's memory (turns).
//   - The doorbell is a native write to a memfd, of which inotify tells the supervisor: 1.3 µs for
//     the program, and 6.5 µs for a call that waits for an answer. Messages of 4 KiB were up to
//     three times as fast. The kernel may drop notifications and says so; then the supervisor looks
//     at every device that is open.
//   - A descriptor of the device's file has a number that is 1 modulo 4, and one of rdma_cm a
//     number that is 3, from 32 on. So the filter knows them, whatever the program's limit is, and
//     few other calls wait. Reserved numbers instead would show the program hundreds of
//     descriptors.
//   - Channels for events, and the file of rdma_cm, are pipes, so poll and read are the kernel's.
//     The supervisor's end tells when the last copy of the program's end is closed.
//   - Calls that wait for an event are answered later, by goroutines that look for signals every 50
//     ms. If more than eight calls wait, each one looks less often: 200 of them took 26 % of a
//     processor, and take 4 %.
//   - The rings are in a sealed memfd, so the program cannot shrink it. The device copies an entry
//     before it checks the entry, and masks indices with a mask out of the program's reach.
//
// # Time
//
// The threads of the supervisor have time slices of 0.1 ms (setTimeSlices). With four busy threads
// in the program, on two processors, 9.9 % of a peer's Reads took longer than 0.5 ms without that,
// and 1.8 % do now. A session of its own for the device would help a peer in a third session (p99
// 95 to 166 µs) and harm one in the program's session (p50 5.8 ms), so the device has none. For
// users there is "rddp run chrt --idle 0 PROGRAM" (0.3 %).
//
// # TCP connections that the program makes
//
// The program's own socket is connected over loopback with the supervisor, which has a copy of it
// by pidfd_getfd. State belongs to the socket's cookie, so close, dup, fork and exit need no
// answer. A new socket in its place would be lost to the epoll in which programs register it before
// connect, as Java and nginx do. The call connect waits for the peer, on a nonblocking socket too:
// a peer without DDP costs a bounded wait once a minute, and then everything is the kernel's own.
//
// # TCP connections that the program accepts
//
// The listener stays the program's own: its port, its life, its copies in children, and whatever
// wakes the program. Only accept is answered: the supervisor accepts in the program's place and
// looks at the first bytes, which TCP_DEFER_ACCEPT makes the kernel wait for. A peer therefore gets
// its Reply when the program calls accept. A connection whose bytes come late leaves the queue; a
// token, a connection of the supervisor's with a known source address, takes its place there. With
// SO_REUSEPORT a token may reach the socket of another process. So if the listener's group may be
// shared, there are no tokens, and the connection is decided about within accept. With TLS, accept
// comes after startup, so a peer without the right certificate never reaches the program.
package run
