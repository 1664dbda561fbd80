// Package ping speaks the protocol of rping, the RDMA ping of Linux's rdma-core, so that it works
// against rping in both roles, and against itself.
//
// The client registers two buffers of the same length: a source, which holds the ping data, and a
// sink. One ping, of which the client counts the time from the first step to the last:
//
//	client                                   server
//	Send: where the source is           →
//	                                    ⇄    RDMA Read of the source
//	                                    ←    Send: go ahead
//	Send: where the sink is             →
//	                                    ←    RDMA Write of the same octets into the sink
//	                                    ←    Send: go ahead
//
// Both messages of the client are an rdmap.Handle: the buffer's TO, STag and length in 16 octets.
// The server's go-ahead has 16 octets too, because rping takes no other length, and all of them are
// zero. The client says "end" by closing the connection between two pings.
//
// The ping data are text for people to read, see fill. Nothing in the protocol depends on them.
//
// A server takes connections until its context is done, or one connection if it is not Persistent:
//
//	s, err := ping.Listen(ctx, ":7174", &ping.Config{})
//	err = s.Serve(ctx)
//
// Peers that connect and say nothing keep nobody out. A connection counts only when it has got through MPA startup, and
// until its first ping the oldest of more than 1024 is closed. A server that is not Persistent runs the startup of all
// connections at the same time, and serves the first one that gets through.
//
// A client makes Config.Count pings and says how long they took:
//
//	summary, err := ping.Client(ctx, "host:7174", &ping.Config{Count: 10, Validate: true})
//
// Every wait for the peer is bounded by Config.Timeout; only a server's wait for a connection is not.
// When the context is done, the ping under way may end within a second, so that the peer sees the
// close where the protocol has a place for it.
//
// MPA startup is what rping gets from the kernel: revision 2 with IRD and ORD 1, no private data, and
// a second try in revision 1 if the peer closes without a Reply. The record by which two rddp ends
// know each other is left out: a foreign peer would see it as private data.
package ping
