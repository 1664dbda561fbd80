// Package demo implements `rddp demo`, which demonstrates the stack on one machine in less than a
// minute.
//
// A program under rddp run lends a counter on its RDMA device. The demo reads it by RDMA while the
// program runs, and while it is stopped, when it answers nothing over TCP.
//
// Then two processes talk over loopback. The client writes a real file into the server's memory by
// RDMA Write, the server stores the file, and the client reads it back by RDMA Read. The SHA-256 of
// all copies must agree. Messages and atomics follow. The same bytes are also transferred by plain
// TCP between the same two processes, for comparison. The client captures a second, short
// connection to a file that Wireshark opens.
package demo
