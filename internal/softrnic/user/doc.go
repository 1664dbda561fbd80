// Package user reports whether a peer on this host has the same user as this process. The kernel
// knows the user of each socket, so a peer cannot pretend to be another user.
//
// Every process of the same user counts, regardless of why it connects: a forwarder such as ssh -L
// counts as the user who has started it.
package user

// A Relation is the relation of a peer's user to this process's user.
type Relation uint8

const (
	// Unknown means that the kernel cannot tell: the peer is on another host or in another network
	// namespace, or neither user has a UID in this user namespace.
	Unknown Relation = iota
	// Same means that the peer has the user of this process.
	Same
	// Another means that the peer has another user.
	Another
	// Ending means that the peer is on this host, but its end of the connection is closing or gone,
	// so the kernel has forgotten its user.
	Ending
)

func (r Relation) String() string {
	switch r {
	case Same:
		return "the same user"
	case Another:
		return "another user"
	case Ending:
		return "a user that is forgotten"
	}
	return "an unknown user"
}
