// Package scenario has tests of a connection with two correct ends, for more than one package, over
// any TCP: Sessions, with every operation and an orderly close; long transfers, with a checksum;
// and a check that early placement changes no result.
package scenario
