package extsock

import (
	"errors"

	"github.com/rddp/rddp/ddp"
)

// Window makes a Region of a part of r: n bytes from offset off. The window has an STag of its own
// and grants the rights in access, which r must grant too. The peer cannot tell a window from any
// other Region. A window may itself have windows.
//
// A window ends with its own Deregister, which leaves r as it is, with a Send of the peer that
// invalidates the window's STag, or with r.
//
// The error is a *ddp.AccessError. It is ddp.ErrMisaligned if access holds ddp.RemoteAtomic and the
// address of the window is not a multiple of 8. A Region on a device has no windows: the error is
// then errors.ErrUnsupported. The zero Region has none either.
func (r Region) Window(off, n int, access ddp.Access) (Region, error) {
	if r.m != nil {
		return Region{}, errors.ErrUnsupported
	}
	whole := r.r
	if whole == nil {
		whole = new(ddp.Region) // its Window returns an error
	}
	w, err := whole.Window(off, n, access)
	if err != nil {
		return Region{}, err
	}
	if access&ddp.RemoteAtomic != 0 && w.TO()%8 != 0 { // the TO is congruent to the address
		w.Deregister()
		return Region{}, ddp.ErrMisaligned
	}
	return Region{r: w, v: r.v}, nil
}
