// Package conn is a connection in DDP mode over one [toe.Stream], for a program that wants nothing
// else of it: MPA startup first, and then a queue pair whose messages it reads and whose Work
// Requests it posts. The RNIC of `rddp run` is such a program. Package extsock has the socket that
// is also a net.Conn, with TCP mode, a byte stream and devices. Both stand on the packages below:
//
//   - startup is MPA startup, and how a connection comes to it.
//   - driver runs the layers over a Stream.
//   - device runs a connection on an RDMA device.
//   - bytestream is a byte stream made of messages, and rsockets the one of librdmacm.
//   - counters, observe, wait and bufpool are parts of these.
package conn
