package pipeline

import "fmt"

// A QueueFullError means that the host queue is full. Nothing was posted. It is the engine's
// back-pressure: a completion makes room.
type QueueFullError struct {
	Host, Engine int // descriptors in the host queue and in the engine queue, which are both full
}

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("pipeline: the queues are full: %d descriptors in the host queue, %d in the engine queue", e.Host, e.Engine)
}

// An UnderrunError means that a link without gaps needed bytes that had not arrived in the engine's
// memory: the threshold is too low. The frame is broken, and the simulation ends.
type UnderrunError struct {
	From      int // the end that sent
	Message   int // the number that Post returned
	Sent      int // bytes of the packet that the link had sent
	Threshold int // the threshold that applied, in bytes of this packet
	Least     int // the result of MinThreshold for this packet
	At        Time
}

func (e *UnderrunError) Error() string {
	return fmt.Sprintf("pipeline: message %d of end %d: the link has sent %d bytes of a packet and the next ones have not arrived: the threshold is %d bytes, and must be %d",
		e.Message, e.From, e.Sent, e.Threshold, e.Least)
}

// A ParamError names the wrong parameter.
type ParamError struct {
	Field, Reason string
}

func (e *ParamError) Error() string { return "pipeline: " + e.Field + " " + e.Reason }
