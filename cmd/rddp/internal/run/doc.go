// Package run is the command rddp run: it runs an unchanged program and gives it an RDMA device that
// is not there, without a device, a kernel module or root.
//
// The program keeps its own libibverbs and its providers. The supervisor, which is this process,
// answers what the kernel would: the files of the device in /sys and /dev, and the commands on
// /dev/infiniband/uverbs0 and rdma_cm. It looks like the device of the rxe driver. Package seccomp
// brings the calls, packages internal/rdmaabi/uverbs and ucma decode them, package device is the device, package cm
// connects its queue pairs, and package process reaches the program's memory.
//
// It also carries TCP connections of the program over DDP, those that package rules chooses, by the
// means of package proxy.
package run
