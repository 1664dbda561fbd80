package badlink

import "errors"

// ErrPacketLength is the error of a Write whose packet is empty or longer than the MTU.
var ErrPacketLength = errors.New("badlink: the packet is empty or longer than the MTU")

// A ConfigError names the field of a Config or of Faults whose value no link can have.
type ConfigError struct {
	Field  string // the name of the field, such as MTU or AB.Loss
	Reason string // the value, and what is wrong with it
}

func (e *ConfigError) Error() string { return "badlink: " + e.Field + ": " + e.Reason }
