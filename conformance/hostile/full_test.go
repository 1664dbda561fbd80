//go:build conformance

package hostile

// full says that the counts are those of the requirements, which take minutes.
const full = true
