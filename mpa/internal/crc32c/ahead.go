package crc32c

const (
	// aheadPiece is the number of bytes that are prefetched together. The CPU fetches few lines at
	// a time, so with longer pieces the CRC would wait for them.
	aheadPiece = 4 << 10

	lineLen = 64
)

// UpdateAhead is Update for a p that is in the CPU's cache and about to be copied to dst, which is
// probably not in the cache. While it computes the CRC, the CPU fetches the memory of dst.
// UpdateAhead neither reads nor writes dst, and any dst is allowed.
func UpdateAhead(crc uint32, p, dst []byte) uint32 {
	if !fetchesAhead {
		dst = nil
	}
	for len(dst) >= lineLen && len(p) > 0 {
		n := min(aheadPiece, len(p), len(dst))
		if lines := n / lineLen; lines > 0 {
			prefetchWrite(&dst[0], lines)
		}
		crc = Update(crc, p[:n])
		p, dst = p[n:], dst[n:]
	}
	return Update(crc, p)
}
