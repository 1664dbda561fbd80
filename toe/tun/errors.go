package tun

import "fmt"

// A ConfigError names the field of a Config whose value no device can have.
type ConfigError struct {
	Field  string // the name of the field
	Reason string // the value, and what is wrong with it
}

func (e *ConfigError) Error() string { return "tun: " + e.Field + ": " + e.Reason }

// A PrivilegeError names the privilege that the process lacks.
type PrivilegeError struct {
	Op         string // the system call that failed
	Capability string // the capability that it needs, such as CAP_NET_ADMIN
	Err        error  // the system call's error
}

func (e *PrivilegeError) Error() string {
	return fmt.Sprintf("tun: %s needs the capability %s: %v", e.Op, e.Capability, e.Err)
}

func (e *PrivilegeError) Unwrap() error { return e.Err }
