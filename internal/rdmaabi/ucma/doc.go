// Package ucma decodes the interface between librdmacm and the kernel: the commands that a program
// writes to /dev/infiniband/rdma_cm, and their answers. It does no I/O and keeps nothing.
//
// A command is one write: a header of 8 bytes and then a struct. Most structs begin with the
// address for the answer. The write returns its length. An event is the answer to the command
// GET_EVENT.
//
// Everything that the package decodes was written by a program that may be wrong or hostile. A
// Parse function checks the length once, and returns values. The caller must check whether an id
// exists. Numbers are in the byte order of the machine, which is little-endian; addresses and ports
// are in network order.
package ucma
