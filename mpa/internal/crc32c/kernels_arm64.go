package crc32c

import "golang.org/x/sys/cpu"

const pmull kernel = 1 // PMULL: 8 lanes of 128 bits

func (k kernel) String() string { return [...]string{"portable", "pmull"}[k] }

const prefetch = false // the kernel does not prefetch

// kernels returns the kernels that work on this CPU, the fastest first.
func kernels() []kernel {
	// The kernel needs the CRC32C instructions for the last bytes.
	if cpu.ARM64.HasPMULL && cpu.ARM64.HasCRC32 {
		return []kernel{pmull, portable}
	}
	return []kernel{portable}
}

func (k kernel) update(crc uint32, p []byte, _ bool) uint32 {
	if k == pmull {
		return updatePMULL(crc, p)
	}
	return updatePortable(crc, p)
}

// copy copies nothing: no kernel for this architecture copies.
func (k kernel) copy(crc uint32, dst, src []byte) (sum uint32, n int) { return crc, 0 }

//go:noescape
func updatePMULL(crc uint32, p []byte) uint32
