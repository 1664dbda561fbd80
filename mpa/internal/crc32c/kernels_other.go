//go:build !amd64 && !arm64

package crc32c

const prefetch = false

func kernels() []kernel { return []kernel{portable} }

func (k kernel) String() string { return "portable" }

func (k kernel) update(crc uint32, p []byte, _ bool) uint32 { return updatePortable(crc, p) }

// copy copies nothing: no kernel for this architecture copies.
func (k kernel) copy(crc uint32, dst, src []byte) (sum uint32, n int) { return crc, 0 }
