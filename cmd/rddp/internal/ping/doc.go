// Package ping speaks the protocol of rping, the RDMA ping of Linux's rdma-core. It works with
// rping in both roles, and with itself.
//
// The client registers two buffers of the same length: a source, which contains the ping data, and
// a sink. A ping has these steps, and the client measures the time from the first to the last:
//
//	client                                   server
//	Send: the handle of the source      →
//	                                    ⇄    RDMA Read of the source
//	                                    ←    Send: go ahead
//	Send: the handle of the sink        →
//	                                    ←    RDMA Write of the same bytes into the sink
//	                                    ←    Send: go ahead
//
// Both messages of the client are an rdmap.Handle: the buffer's TO, STag and length in 16 bytes.
// The server's go-ahead has 16 bytes too, because rping accepts no other length. All of them are
// zero. To end, the client closes the connection between two pings.
//
// The ping data is readable text; see fill. Nothing in the protocol depends on it.
//
// A server accepts connections until its context is done. If it is not Persistent, it serves one
// connection:
//
//	s, err := ping.Listen(":7174", &ping.Config{})
//	err = s.Serve(ctx)
//
// Silent peers cannot keep clients out. A connection counts only after MPA startup. If more than
// 1024 connections have not sent a ping, the oldest is closed. A server that is not Persistent runs
// the startup of all connections at the same time, and serves the first one that completes it.
//
// A client makes Config.Count pings and reports how long they took:
//
//	summary, err := ping.Client(ctx, "host:7174", &ping.Config{Count: 10, Validate: true})
//
// Config.Timeout bounds every wait for the peer, except a server's wait for a connection. When the
// context is done, the current ping has a second to end, so that the peer sees the close at a point
// where the protocol allows it.
//
// MPA startup is the same as for rping in the kernel: revision 2 with IRD and ORD 1, no private
// data, and a second attempt with revision 1 if the peer closes without a Reply. The record by
// which two rddp ends recognize each other is not sent, because a foreign peer would take it for
// private data.
package ping
