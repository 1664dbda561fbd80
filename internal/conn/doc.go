// Package conn provides a connection in DDP mode over one [toe.Stream], and nothing else: MPA
// startup first, and then a queue pair in message mode, whose messages the caller reads and to
// which it posts Work Requests. The RNIC of `rddp run` uses it. Package extsock has the socket that
// is also a net.Conn, with TCP mode, a byte stream and devices. Both use the packages below:
//
//   - startup runs MPA startup, and decides when a connection begins it.
//   - driver runs the layers over a Stream.
//   - device runs a connection on an RDMA device.
//   - bytestream is a byte stream made of messages, and rsockets is that of librdmacm.
//   - inbox, counters, observe, wait and bufpool are parts of these.
package conn
