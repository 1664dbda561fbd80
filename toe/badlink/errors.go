package badlink

import "errors"

// ErrPacketLength is the error of a Write whose packet is empty or longer than the MTU.
var ErrPacketLength = errors.New("badlink: the packet is empty or longer than the MTU")

// A ConfigError says which field of a Config or of Faults has a value that no link can have.
type ConfigError struct {
	Field  string // the name of the field, such as MTU or AB.Loss
	Reason string // the value, and what is wrong with it
}

func (e *ConfigError) Error() string { return "badlink: " + e.Field + ": " + e.Reason }
