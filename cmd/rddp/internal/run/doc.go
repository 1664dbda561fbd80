// Package run is the command rddp run: it runs an unchanged program and gives it an RDMA device,
// without hardware, a kernel module or root.
//
// The program keeps its own libibverbs and its providers. The supervisor, which is this process,
// answers in place of the kernel: it provides the device's files in /sys and /dev, and executes the
// commands on /dev/infiniband/uverbs0 and rdma_cm. The device looks like that of the rxe driver.
// Package seccomp intercepts the calls, packages internal/rdmaabi/uverbs and ucma decode them,
// package softrnic implements the device, package cm connects its queue pairs, and package process
// accesses the program's memory.
//
// The supervisor also carries the program's TCP connections over DDP if a rule (package rules)
// chooses them. It uses package proxy for that.
//
// # Calls and files
//
//   - The supervisor replaces the kernel's interface, not a library. Every version of rdma-core
//     uses that interface, and so do static programs. Private symbols of libibverbs change with
//     each release.
//   - The device looks like rxe because libibverbs finds rxe's provider by name, and because rxe
//     needs no mapped hardware and has atomics, immediate data, shared receive queues and UD.
//   - Commands arrive through the ioctl INVOKE_WRITE. libibverbs probes for it with a call that
//     must fail with ENOSPC, and then uses it for all commands.
//   - One goroutine answers the calls in order. If an answer takes more than 20 ms, another
//     goroutine takes over, because an answer may wait for a page of the program's memory (turns).
//     The goroutine that looks at the work requests of all programs has such turns, too.
//   - The doorbell is a native write to a memfd, and inotify notifies the supervisor. The write
//     takes the program 1.3 µs; a call that waits for an answer takes 6.5 µs, and 4 µs from Linux
//     6.11 on. Messages of 4 KiB were up to three times as fast. When the kernel reports dropped
//     notifications, the supervisor checks every open device. A read of inotify that blocks, in
//     place of the runtime's epoll, and no ppoll between two devices of one process, saved 2.7 of
//     9.5 system calls of a device for a round trip. But a thread more had to wake, and ib_send_lat
//     took 36 µs in place of 19, typically. Without the ppoll alone it was no faster.
//   - Descriptors of the device's file get numbers that are 1 modulo 4, and those of rdma_cm
//     numbers that are 3 modulo 4, from 32 on. So the filter recognizes them, whatever the
//     program's limit is, and intercepts few other calls. Reserving numbers instead would show the
//     program hundreds of descriptors.
//   - Event channels and the file of rdma_cm are pipes, so the kernel handles poll and read. The
//     supervisor's end shows when the last copy of the program's end is closed.
//   - Calls that wait for an event are answered later, by goroutines that look for signals every 50
//     ms. If more than eight calls wait, each looks less often. That reduced the cost of 200
//     waiting calls from 26 % of a processor to 4 %.
//   - The rings are in a sealed memfd, so the program cannot shrink it. The device copies an entry
//     before it checks it. It masks indices with a mask that the program cannot change.
//
// # Paths
//
//   - A path of the program that may lead to the device is resolved as the kernel would resolve it if
//     the tree were part of the host. The text of nearly all other paths shows that they do not, so
//     their calls cost no more than the notification.
//   - Folders of the device, and those above it, such as /sys/class, are opened by the supervisor.
//     Their descriptors get numbers that are 2 modulo 4, so the filter intercepts listings of them
//     and calls with paths relative to them. Calls relative to other folders run natively, which
//     find(1) and rm(1) need.
//   - chdir must change the kernel's working directory. If the supervisor only remembered another
//     one, calls that it does not intercept, such as unlink, would act in the wrong folder, and it
//     would have to know when a child begins. So it attaches to the thread by ptrace, and has it
//     call fchdir for a descriptor of the folder in the tree. A path in the program's memory would
//     need room there, and in Go's small stacks there may be none.
//
// # Time
//
// The threads of the supervisor have time slices of 0.1 ms (setTimeSlices). With four busy threads
// in the program, on two processors, that reduced the share of a peer's Reads that take longer than
// 0.5 ms from 9.9 % to 1.8 %. With "rddp run chrt --idle 0 PROGRAM" it is 0.3 %. The supervisor has
// no session of its own: that would help a peer in a third session (p99 95 to 166 µs) but harm a
// peer in the program's session (p50 5.8 ms).
//
// Beside messages, half of the device's processor time was that of the monitor thread of Go's
// runtime, which woke every 20 µs. See calm.
//
// # TCP connections that the program makes
//
// The supervisor gets a copy of the program's socket by pidfd_getfd, and connects it to itself over
// loopback. It keys its state by the socket's cookie, so it need not intercept close, dup, fork and
// exit. Replacing the socket would not work: programs such as Java and nginx register it with epoll
// before connect, and epoll would keep the old socket. connect waits for the peer, even on a
// nonblocking socket. A peer without DDP costs a bounded wait once a minute; after that the
// connection is the kernel's alone.
//
// # TCP connections that the program accepts
//
// The listener remains the program's: its port, its lifetime, its copies in children, and the way
// the program is woken. The supervisor answers only accept: it accepts in the program's place and
// looks at the first bytes, for which the kernel waits because of TCP_DEFER_ACCEPT. A peer
// therefore gets its Reply when the program calls accept. A connection whose bytes come late leaves
// the queue. A token takes its place: a connection from the supervisor with a known source address.
// With SO_REUSEPORT, a token could reach the socket of another process. So if the listener's group
// may be shared, there are no tokens, and the supervisor decides within accept. With TLS, accept
// comes after startup, so a peer without the right certificate never reaches the program.
package run
