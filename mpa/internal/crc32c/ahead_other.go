//go:build !amd64

package crc32c

const fetchesAhead = false

func prefetchWrite(*byte, int) {}
