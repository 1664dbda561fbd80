// Package demo shows, on one machine and in under a minute, what the stack does. It is the work
// behind `rddp demo`.
//
// Two processes talk over loopback. The client writes a real file into the server's memory by RDMA
// Write, the server stores the file, and the client reads it back by RDMA Read. The SHA-256 of all
// copies must agree. Messages and atomics follow. Then the same bytes cross by plain TCP, in the
// same two processes, so that the throughputs can be compared. The client captures a second, short
// connection to a file that Wireshark opens.
package demo
