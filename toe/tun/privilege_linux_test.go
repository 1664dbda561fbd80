//go:build conformance

package tun

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutPrivilege calls f on a thread that has no capability.
func withoutPrivilege(f func() error) error {
	return onThread(func() error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&hdr, &none[0]); err != nil {
			return err
		}
		return f()
	})
}

// TestPrivilegeError: without a privilege the error says which one is missing.
func TestPrivilegeError(t *testing.T) {
	for _, test := range []struct {
		desc, capability string
		f                func() error
	}{
		{"device", "CAP_NET_ADMIN", func() error { _, err := open(Config{}); return err }},
		{"namespace", "CAP_SYS_ADMIN", func() error { _, err := newNamespace(); return err }},
		{"a file of somebody else", "CAP_DAC_OVERRIDE", func() error { return fail("open", "CAP_NET_ADMIN", unix.EACCES) }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			err := withoutPrivilege(test.f)
			var p *PrivilegeError
			if !errors.As(err, &p) || p.Capability != test.capability || !errors.Is(err, os.ErrPermission) {
				t.Errorf("%v, want a PrivilegeError that names %s", err, test.capability)
			}
			t.Log(err)
		})
	}
}
