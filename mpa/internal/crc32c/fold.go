//go:build amd64 || arm64

package crc32c

// fold has the constants of folding. Row D folds a lane of 128 bits over D bits of data: the kernel
// multiplies the first 64 bits of the lane by the first number, the last 64 bits by the second, and
// adds (XOR) both products to the 128 bits that are D bits after the lane.
//
// Let P be the polynomial. The first 64 bits of the lane are D+64 bits before the end of those 128
// bits, and the last 64 bits are D bits before it. So the factors are x^(D+64) and x^D modulo P.
// The bits are reflected, which gives both numbers their form:
//
//	first  = reflect32(x^(D+32) mod P) << 1
//	second = reflect32(x^(D-32) mod P) << 1
//
// A carry-less product of two reflected 64-bit numbers is the reflected product times x. A
// reflected 32-bit number in a 64-bit register counts as x^32 times itself, and the shift divides
// it by x. TestFoldConstants computes the table from P.
//
// The kernels load several rows at once, one per lane, to add the lanes of a register up: the rows
// 384, 256, 128 and the zeros for four lanes, the row 128 and the zeros for two.
var fold = [...][2]uint64{
	{0x04e36f0b0, 0x0064f7f26}, // 3968 bits
	{0x188815ab2, 0x061d82e56}, // 2944
	{0x11d5ca20e, 0x17d35ba46}, // 2432
	{0x0dcb17aa4, 0x0b9e02b86}, // 2048
	{0x0a87ab8a8, 0x0ab7aff2a}, // 1536
	{0x11ed1f9d8, 0x18266e456}, // 1280
	{0x06992cea2, 0x00d3b6092}, // 1024
	{0x1c1733996, 0x102f9b8a2}, // 768
	{0x0083a6eec, 0x039d3b296}, // 640
	{0x0740eef02, 0x09e4addf8}, // 512
	{0x01c291d04, 0x1d82c63da}, // 384
	{0x1384aa63a, 0x0ba4fc28e}, // 256
	{0x0f20c0dfe, 0x14cd00bd6}, // 128
	{},                         // the last lane is at the end already
}
