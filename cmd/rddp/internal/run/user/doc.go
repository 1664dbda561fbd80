// Package user says whether a peer of this host has the same user as this process. The kernel knows
// the user of each of its sockets, so a peer cannot pretend to have another one.
//
// A peer that is another process of the same user counts as this user's, whatever made that process
// connect: a forwarder such as ssh -L stands for the user who has started it.
package user

// A Relation is what the kernel says of a peer.
type Relation uint8

const (
	// Unknown means that the kernel cannot say: the peer is on another host or in another network
	// namespace, or neither the peer's user nor this one has a number in this user namespace.
	Unknown Relation = iota
	// Same means that the peer has the user of this process.
	Same
	// Another means that the peer has another user.
	Another
	// Ending means that the peer is on this host, and that its end of the connection has begun to
	// end or is gone, so that the kernel has forgotten its user.
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
