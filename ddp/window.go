package ddp

import (
	"errors"

	"github.com/rddp/rddp/internal/locks"
)

// Window returns a window of r: a Region that grants access to the n bytes of r from offset off on,
// and to nothing else. A program can grant and revoke access through a window without touching r.
// The window has its own STag and TO, from which a peer cannot guess those of r. It is valid on the
// stream of r.
//
// The window ends when its own Deregister is called, when the peer invalidates its STag, or when r
// ends. In the first two cases r stays. When the Deregister of r has returned, nothing reaches the
// memory through a window either. [Redirect] of r moves the window along. A window can have
// windows, under the same rules.
//
// A window has at least 1 byte, lies inside r, and grants no right that r does not grant. Bits of
// access that are not rights have no effect. A ReadSink belongs to one Read alone, so it has no
// windows. If a window breaks these rules, or after the Deregister of r, the error is an
// [*AccessError]. The same holds if r is the zero Region. A Region of [Domain.RegisterMemory] has
// no windows. Other errors come from the random source.
func (r *Region) Window(off, n int, access Access) (*Region, error) {
	to := r.base + uint64(off)
	access &= everyRight
	switch {
	case r.domain == nil:
		return nil, r.refuse(CodeInvalidSTag, to, uint64(n), access, nil)
	case off < 0 || n < 1 || off > r.size || n > r.size-off:
		return nil, r.refuse(CodeBounds, to, uint64(n), access, nil)
	case access&^r.access != 0 || r.access&ReadSink != 0:
		err := r.refuse(CodeInvalidSTag, to, uint64(n), access, nil)
		err.Denied = true
		return nil, err
	}
	// Deregister sets gone and then ends the windows of r. So this window is either refused or
	// ended. Redirect holds windows.mu too, so mem is still the memory of r when the window is
	// added.
	r.windows.mu.Lock()
	defer r.windows.mu.Unlock()
	r.mu.RLock()
	mem, gone := r.mem, r.gone.Load() || r.mem == nil // nil: r discards what arrives
	r.mu.RUnlock()
	if gone {
		err := r.refuse(CodeInvalidSTag, to, uint64(n), access, nil)
		if r.memory != nil {
			err.Memory = errors.ErrUnsupported
		}
		return nil, err
	}
	w, err := r.domain.enter(&Region{
		mem: part(mem, off, n), access: access, stream: r.stream, of: r, offset: uint64(off),
	})
	if err == nil {
		r.windows.addLocked(w)
	}
	return w, err
}

// windows holds the windows of one Region. A window stays here until the last copy through it has
// ended. So if several goroutines deregister the Region, each of them waits for that.
type windows struct {
	mu  locks.Mutex[locks.Windows]
	all map[*Region]struct{} // +checklocks:mu
}

// +checklocks:w.mu
func (w *windows) addLocked(r *Region) {
	if w.all == nil {
		w.all = make(map[*Region]struct{})
	}
	w.all[r] = struct{}{}
}

func (w *windows) remove(r *Region) {
	w.mu.Lock()
	delete(w.all, r)
	w.mu.Unlock()
}

// deregister ends all windows. After it no window is added.
func (w *windows) deregister() {
	for _, r := range w.list() {
		r.Deregister()
	}
}

func (w *windows) list() (all []*Region) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.all {
		all = append(all, r)
	}
	return all
}
