//go:build !linux

package user

import "net/netip"

// OfTCP returns Unknown.
func OfTCP(_, _ netip.AddrPort) Relation { return Unknown }
