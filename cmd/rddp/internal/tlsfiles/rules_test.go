package tlsfiles

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPinAndMore: a pin alone is enough. With an authority or a name, these and the pin are
// checked.
func TestPinAndMore(t *testing.T) {
	own, pin, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	other, otherPin, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	file := func(c *tls.Certificate) string {
		name := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	server, err := Server{Identity: Identity{Own: own}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		desc   string
		client Client
		works  bool
	}{
		{"the pin", Client{Pins: []Pin{pin}}, true},
		{"one of two pins", Client{Pins: []Pin{otherPin, pin}}, true},
		{"another pin", Client{Pins: []Pin{otherPin}}, false},
		{"no pin", Client{}, false},
		{"the pin, and another authority", Client{Pins: []Pin{pin}, CA: file(other)}, false},
		{"the pin, and a name that is not in the certificate", Client{Pins: []Pin{pin}, Name: "far.example"}, false},
		{"the pin, its authority, and a name that is not in the certificate", Client{Pins: []Pin{pin}, CA: file(own), Name: "far.example"}, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			current, err := tt.client.Config()
			if err != nil {
				t.Fatal(err)
			}
			cfg := current()
			if cfg.ServerName == "" {
				cfg = cfg.Clone()
				cfg.ServerName = "here.example" // as a dialer does
			}
			if _, err := handshake(t, server, cfg); (err == nil) != tt.works {
				t.Errorf("the handshake: %v, want success: %t", err, tt.works)
			}
		})
	}
}

// TestCheckListen: only loopback addresses are limited to this host. No host means all addresses.
func TestCheckListen(t *testing.T) {
	for address, isBeyond := range map[string]bool{
		"127.0.0.1:7174": false, "127.1.2.3:7174": false, "[::1]:7174": false, "[::ffff:127.0.0.1]:7174": false, "[::1%lo]:7174": false,
		":7174": true, "0.0.0.0:7174": true, "[::]:7174": true, "192.0.2.1:7174": true, "[fe80::1%lo]:7174": true, "[::ffff:192.0.2.1]:7174": true,
	} {
		if err := CheckListen(t.Context(), address); errors.Is(err, ErrBeyond) != isBeyond || err != nil && !isBeyond {
			t.Errorf("CheckListen(%s) = %v, want ErrBeyond: %t", address, err, isBeyond)
		}
	}
}
