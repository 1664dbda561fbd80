//go:build amd64 || arm64

package device

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestNoAtomics: a device says whether it has atomics, and an RNIC has none, nor memory on demand for
// them. The places of the numbers are those of the kernel's headers.
func TestNoAtomics(t *testing.T) {
	const atomics, pagingRC, pagingAtomic = 40 + 4*17, 176 + 8 + 8, 1 << 4
	for _, none := range []bool{false, true} {
		d, err := New(Config{Addresses: []netip.Addr{localhost}, NoAtomics: none})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c, err := d.Open(make([]byte, 1<<16))
		if err != nil {
			t.Fatal(err)
		}
		out, _, errno := c.Do(nil, uverbs.QueryDevice|uverbs.Extended, make([]byte, 8), nil)
		if errno != 0 {
			t.Fatal(errno)
		}
		kind, rc := binary.NativeEndian.Uint32(out[atomics:]), binary.NativeEndian.Uint32(out[pagingRC:])
		if (kind == 0) != none || (rc&pagingAtomic == 0) != none || rc == 0 {
			t.Errorf("without atomics %t: the kind is %d, memory on demand 0x%x", none, kind, rc)
		}
	}
}
