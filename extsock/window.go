package extsock

import "github.com/rddp/rddp/ddp"

// Window gives the n octets of r from offset off on a Handle and an STag of their own, for the peer to use
// as far as access says, which must be no further than r's. It is revoked by itself: with its Deregister
// (see there), by the peer's Send with Invalidate of its STag, and in any case with r. r stays, and the
// peer can't tell one from the other. There can be windows of windows.
//
// The error is a *ddp.AccessError, or ddp.ErrMisaligned where RemoteAtomic is asked for at an address that
// is no multiple of 8.
func (r Region) Window(off, n int, access Access) (Region, error) {
	w, err := r.Region.Window(off, n, access)
	if err != nil {
		return Region{}, err
	}
	if access&RemoteAtomic != 0 && w.TO()%8 != 0 { // the TO says what the address does
		w.Deregister()
		return Region{}, ddp.ErrMisaligned
	}
	return Region{w, r.v}, nil
}
