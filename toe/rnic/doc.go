// Package rnic is the interface to an RDMA device: what a connection needs from a device that does
// TCP, MPA, DDP and RDMAP itself, or the protocol of a channel adapter. Package toe is the
// interface to a TCP, below all of these layers.
//
// A [Deviced] is a backend that has such a device. A [Device] makes connected queue pairs ([QP])
// and registers memory ([Region]). Package toe/verbs implements it over the kernel's RDMA
// interface, and package extsock runs connections on it. Another implementation needs only this
// package and the types that it takes from ddp and rdmap: rights, Handles and Statuses.
package rnic
