// Package scenario has what two honest ends of a connection do in the tests of more than one
// package, and what must be true afterwards: Sessions, which have every operation and an orderly
// close; transfers of many octets, with a checksum; and the property that early placement changes
// nothing. It works over any TCP.
package scenario
