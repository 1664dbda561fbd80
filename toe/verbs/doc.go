// Package verbs lets a Go program use an RDMA device of its operating system: the program posts
// work requests and takes completions, and the device does TCP, MPA, DDP and RDMAP. It uses the
// kernel's own interface, /dev/infiniband, without cgo and without a C library.
//
// It works on Linux on amd64 and arm64, with devices whose queues are plain memory: those of the
// kernel's drivers siw and rxe, and that of "rddp run". For any other device, or without a device,
// Open returns an [UnavailableError] with the reason, so that a program can use package extsock in
// its own process instead.
//
// The peer of siw, and of "rddp run --iwarp", can be any iWARP implementation, because it does not
// see where the protocol runs. The others are channel adapters with other protocols: rxe uses RoCE,
// and "rddp run" connects only to itself.
//
// On an RNIC, the end that accepts may send only when it has received something (RFC 5044 §7.1.2).
// So the end that dials must send first. siw, as the end that accepts, may not read data that
// arrive right after its answer until more data arrive: if no answer comes, an OpWrite of length 0
// helps.
//
// Atomics and Immediate Data work if the device has them. They do not work over iWARP: RFC 7306
// defines them, but no driver implements them. [Device.Can] reports whether a device has an
// operation; otherwise Post returns an [UnavailableError].
//
// # Memory
//
// A device reaches memory by its address for as long as it is registered, also while the program
// does something else. So registered memory must neither move nor be freed. Go's heap is not
// suitable, because the language guarantees neither for longer than a call. A [Region] is therefore
// separate memory, whole pages outside the heap, which the garbage collector never looks at. Slices
// of it are ordinary []byte, and it may contain only bytes, no pointers. It is valid until Close,
// which ends the peer's rights first. Slices of a closed Region must not be used.
//
// A peer with the rights may change a Region at any time, so a program that checks received data
// must copy them first.
//
// # Trust in the device
//
// If a device breaks the rules of the interface, the queue pair or the [Device] fails with a
// [DeviceError], but the process is safe. The package checks every length, index and number from a
// device: a completion must belong to the oldest work request of its queue, and is taken once. With
// siw, Sends and Writes may complete before Reads that were posted earlier.
//
// When a connection ends, the device flushes the outstanding work requests, and Wait gives it 5
// seconds for that. After an error siw does not flush some of them; Wait then returns
// [ErrDisconnected].
package verbs
