package tun_test

import (
	"errors"
	"math"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/toe/tun"
)

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		desc, field string
		cfg         tun.Config
	}{
		{"long name", "Name", tun.Config{Name: "sixteen-bytes-xx"}},
		{"small MTU", "MTU", tun.Config{MTU: 67}},
		{"large MTU", "MTU", tun.Config{MTU: 65536}},
		{"MTU too small for IPv6", "MTU", tun.Config{MTU: 1279, Addresses: []netip.Prefix{netip.MustParsePrefix("fd00::1/64")}}},
		{"no prefix", "Addresses", tun.Config{Addresses: make([]netip.Prefix, 1)}},
		{"IPv4 in IPv6", "Addresses", tun.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.1/120")}}},
		{"negative queue", "QueueLen", tun.Config{QueueLen: -1}},
		{"long queue", "QueueLen", tun.Config{QueueLen: 1<<19 + 1}},
		{"queue of more than 32 bits", "QueueLen", tun.Config{QueueLen: math.MaxInt}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			d, err := tun.Open(test.cfg)
			var c *tun.ConfigError
			if !errors.As(err, &c) || c.Field != test.field || d != nil {
				t.Errorf("Open returned %v, %v, want an error of %s", d, err, test.field)
			}
		})
	}
}
