// Package uverbs decodes the interface between libibverbs and the kernel: the commands that a
// program sends to /dev/infiniband/uverbsN, their answers, and the entries of the queues that the
// two share, with the layout of the rxe provider. It does no I/O and keeps nothing.
//
// Everything that it decodes was written by a program that may be wrong or hostile. A Parse
// function checks the length once, and returns values. The caller must check whether a handle or a
// number is valid.
//
// Numbers are in the byte order of the machine, which is little-endian on every machine that the
// supervisor runs on. GIDs, GUIDs and immediate data are in network order, and are kept as bytes.
package uverbs
