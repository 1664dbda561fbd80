// Package netconn makes a toe.Stream of a net.Conn that is not one: TLS, a unix socket, net.Pipe, an
// SSH channel. [New] does so for any net.Conn. [NewBuffered] is for a net.Conn that is useless once
// one of its Writes has timed out.
package netconn
