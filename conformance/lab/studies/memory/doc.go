// Memory is a study: how many bytes move through memory for each byte that one program delivers to
// another? `make study-memory` runs it, and docs/studies/memory.md has the results.
//
// # Parts
//
// Source and sink are two processes. The source sends blocks over TCP, over the byte stream of an
// extended socket, or by RDMA Write, or the sink fetches them by RDMA Reads, one after the other.
// The sink checks bytes of each block that it has, and nothing else touches the blocks.
//
// # Counting
//
// The program counts with the kernel's tracing (tracefs), so it must be root. Probes in its own
// text count the bytes passed to the Go runtime's memmove and the CRC kernels of rddp, and
// tracepoints count the bytes that the kernel has copied to and from sockets. Copies of less than
// 64 bytes are left out. A copy reads and writes each byte, and a CRC that does not copy reads it.
//
// The CPU distinguishes the two sides, so the program needs two CPUs.
package main
