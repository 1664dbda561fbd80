// Package verbs lets a Go program use an RDMA device of its operating system: the program posts
// work requests and takes completions, and the device does TCP, MPA, DDP and RDMAP. It speaks the
// kernel's own interface, /dev/infiniband, without cgo and without a library of C.
//
// It works on Linux on amd64 and arm64, with devices whose queues are plain memory: those of the
// kernel's drivers siw and rxe, and that of "rddp run". For every other device, and without one,
// Open returns an [UnavailableError] with the reason, so that a program can go on with package
// extsock in its own process.
//
// The peer of siw, and of "rddp run --iwarp", is any iWARP: it does not see where the protocol
// runs. The others are channel adapters, which speak other protocols: rxe meets RoCE, and "rddp
// run" meets itself.
//
// On an RNIC, the end that accepts may send only when it has received something (RFC 5044 §7.1.2).
// So the end that dials speaks first. siw, as the end that accepts, may leave unread what arrives
// right behind its answer, until more arrives: if no answer comes, an OpWrite of length 0 helps.
//
// Atomics and Immediate Data are there where the device has them: not over iWARP, which has had
// them since RFC 7306, because no driver does. [Device.Can] tells, and Post refuses them with an
// [UnavailableError].
//
// # Memory
//
// A device reaches memory by its address for as long as it is registered, also while the program
// does something else. So registered memory must neither move nor be given back. Memory of Go's
// heap is not suited: the language promises neither for longer than a call. A [Region] is therefore
// memory of its own, whole pages outside of the heap, which the garbage collector never looks at.
// Slices of it are ordinary []byte, and nothing but bytes may be in it: no pointers. It lasts until
// Close, which ends the peer's rights first. Slices of a closed Region must not be used any more.
//
// A peer with the rights may change a Region at any time, so a program that checks what it has
// received copies it first.
//
// # What a device says
//
// A device that breaks the rules of the interface costs the queue pair or the [Device], with a
// [DeviceError], and never the process. The package believes no length, index or number of a device
// without a check: a completion must be that of the oldest work request of its queue, and is taken
// once. With siw, Sends and Writes may complete before Reads that were posted earlier.
//
// When a connection ends, the device flushes what is under way, for which Wait gives it 5 seconds.
// siw leaves some of it as it is after an error; Wait then returns [ErrDisconnected].
package verbs
