//go:build !amd64

package place

// cached is the kernel of Copy.
const cached = plain

func kernels() []kernel { return []kernel{plain} }

func (k kernel) String() string { return "plain" }

// move copies src to dst.
func (k kernel) move(dst, src []byte) { copy(dst, src) }
