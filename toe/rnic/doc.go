// Package rnic is the seam to an RDMA device: what a connection needs of a device that does TCP,
// MPA, DDP and RDMAP itself, or the protocol of a channel adapter. Package toe is the seam to a
// TCP, below all of these layers.
//
// A [Deviced] is a backend that has such a device. A [Device] makes connected queue pairs ([QP])
// and registers memory ([Region]). Package toe/verbs implements it over the kernel's RDMA
// interface, and package extsock runs connections on it. A program can implement it, too: it needs
// nothing else of this module.
//
// The package has interfaces and words, and no code that runs.
package rnic
