//go:build !race

package main

// probes are for amd64 without the race detector, since with it rddp copies in another way.
// Functions in Go's assembly have their arguments on the stack, but memmove has them in registers.
var probes = []probe{
	{"runtime.memmove", eventCopy, "%cx"},
	{"/crc32c.copyAVX512", eventCopy, "+32(%sp)"},
	{"/crc32c.copyAVX2", eventCopy, "+32(%sp)"},
	{"/crc32c.updateAVX512", eventCRC, "+24(%sp)"},
	{"/crc32c.updateAVX2", eventCRC, "+24(%sp)"},
	{"/crc32c.updateSSE", eventCRC, "+24(%sp)"},
}
