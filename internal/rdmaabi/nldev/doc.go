// Package nldev answers the requests that a program sends to a netlink socket of the protocol
// NETLINK_RDMA: which devices there are, what their ports are, and which objects of them exist. It
// does no I/O and keeps nothing.
//
// A request is a message of netlink with a header of 16 bytes and attributes:
//
//	0 length   4 type   6 flags   8 sequence number   12 port   16 attributes
//
// The type is RDMA's client NLDEV and one of its commands. The answer has the same type, sequence
// number and form. If the flags ask for a dump, the answer is a series of messages, of which the
// last one is NLMSG_DONE with an error number. Errors of other requests are in an NLMSG_ERROR.
//
// The program that wrote the requests may be wrong or hostile. The parser checks all lengths, and
// the caller gets no more than messages for the program. Errors are those of Linux, except that a
// command that would change the device fails with EOPNOTSUPP. Numbers are in the byte order of the
// machine.
package nldev
