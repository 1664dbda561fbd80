// Package demo shows what the stack does, on one machine, in under a minute: `rddp demo`.
//
// Two processes talk over loopback. The client writes a real file into the server's memory by RDMA
// Write, the server stores it, and the client reads it back by RDMA Read; the SHA-256 of all copies
// must agree. Messages and atomics follow. The same octets then cross by plain TCP, in the same
// two processes, so that the throughputs can be compared. A second, short connection is captured
// inside the client to a file that Wireshark opens.
package demo
