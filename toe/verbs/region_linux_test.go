//go:build amd64 || arm64

package verbs

import "testing"

// TestRegionAtClose: any goroutine may call the methods of a Region while another one closes it.
// After that Bytes returns nil, and Handle still returns the same Handle.
func TestRegionAtClose(t *testing.T) {
	mapped, err := pages(8)
	if err != nil {
		t.Fatal(err)
	}
	r := &Region{d: &Device{}, mapped: mapped, b: mapped[:8], remote: 5, gone: true} // as after Device.Close
	h := r.Handle()
	closed := make(chan error, 1)
	go func() { closed <- r.Close() }()
	if n := len(r.Bytes()); n != 0 && n != 8 {
		t.Errorf("%d bytes", n)
	}
	for range 2 {
		if got := r.Handle(); got != h || got.STag != 5 || got.TO == 0 || got.Len != 8 {
			t.Errorf("Handle = %+v, want %+v", got, h)
		}
		if closed != nil {
			if err := <-closed; err != nil {
				t.Error(err)
			}
			closed = nil
		}
	}
	if b := r.Bytes(); b != nil {
		t.Errorf("%d bytes after Close", len(b))
	}
}
