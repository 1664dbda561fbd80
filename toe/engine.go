package toe

import (
	"errors"
	"fmt"
)

// An Offload is how much of the work above TCP an engine does. Each value includes those before it.
type Offload uint8

const (
	// OffloadNone: the engine is a TCP. The zero value.
	OffloadNone Offload = iota
	// OffloadCRC: the engine computes the CRC of each FPDU that is sent, and verifies that of each
	// FPDU that arrives.
	OffloadCRC
	// OffloadFraming: the engine also inserts and removes Markers, PAD and CRC.
	OffloadFraming
	// OffloadPlacement: the engine also has the payload placed, FPDU by FPDU, in any order.
	OffloadPlacement
)

func (o Offload) String() string {
	switch o {
	case OffloadNone:
		return "TCP"
	case OffloadCRC:
		return "CRC"
	case OffloadFraming:
		return "framing"
	case OffloadPlacement:
		return "placement"
	}
	return fmt.Sprintf("Offload(%d)", uint8(o))
}

// An Engagement says what an engine does for a connection. The stack states it once, after MPA
// startup and before the first FPDU.
type Engagement struct {
	// Offload is at most that of the Capabilities, and at least OffloadCRC.
	Offload Offload
	// CRC, TxMarkers and RxMarkers are what MPA startup has agreed on: whether FPDUs have CRCs, and
	// which direction has Markers. With Markers, the first FPDU begins with one (RFC 5044 §4.3).
	CRC, TxMarkers, RxMarkers bool
	// Placer places payload. It is nil unless Offload is OffloadPlacement.
	Placer Placer
}

// A Placer places payload for an engine, in memory that only the stack knows. Its method is called
// within ReadSegment, in the goroutine that has called ReadSegment.
type Placer interface {
	// PlaceULPDU places the payload of a ULPDU, a DDP segment, whose CRC the engine has verified. Its
	// FPDU has size bytes and begins at stream offset off. The FPDU may follow a gap. If PlaceULPDU
	// reports false, it has changed nothing, and the engine shows the ULPDU in its turn. ulpdu
	// belongs to the engine.
	PlaceULPDU(off uint64, size int, ulpdu []byte) (placed bool)
}

// An EngineError means that the engine of a Stream has stopped: it had no resources, it has failed,
// or Disengage was called. The Stream goes on as a TCP. An EngineError is no error of the
// connection.
type EngineError struct {
	// NoResources means that the engine works, but has no room for this connection.
	NoResources bool
	// Taken, from TryWriteBatch, is the stream offset below which TCP has every byte of the FPDUs.
	Taken uint64
	Err   error // the cause
}

func (e *EngineError) Error() string {
	if e.NoResources {
		return fmt.Sprintf("the engine has no resources: %v", e.Err)
	}
	return fmt.Sprintf("the engine has stopped: %v", e.Err)
}

func (e *EngineError) Unwrap() error { return e.Err }

// NoEngine is for a Stream that offloads nothing: it embeds NoEngine.
type NoEngine struct{}

// Engage returns errors.ErrUnsupported.
func (NoEngine) Engage(Engagement) error { return errors.ErrUnsupported }

// Disengage does nothing.
func (NoEngine) Disengage() {}
