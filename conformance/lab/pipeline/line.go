package pipeline

import (
	"fmt"
	"time"
)

// A Line determines when the bytes of one direction of a byte stream arrive. It implements the
// interface Timing of package simtoe. The bytes of each Send are one message. Messages for which
// the queue has no room wait until it has.
type Line struct {
	sim     *Sim
	waiting []int     // messages that are not posted
	landed  []visible // packets in host memory of which the program does not know
	arrived uint64
}

// visible is a packet of n bytes that the program sees at the time at.
type visible struct {
	at Time
	n  int
}

// NewLine returns a Line on which nothing has been sent. The error is that of Params.Validate, or a
// *ParamError for a threshold that would underrun.
func NewLine(p Params, pipelining Pipelining) (*Line, error) {
	s, err := NewSim(p, pipelining)
	if err != nil {
		return nil, err
	}
	if least := p.MinThreshold(p.MaxPacket); pipelining == Fine && p.Gapless && p.Threshold != 0 && p.Threshold < least {
		return nil, &ParamError{"Threshold", fmt.Sprintf("is %d, and must be at least %d", p.Threshold, least)}
	}
	return &Line{sim: s}, nil
}

// Send sends n bytes at the time now, which never decreases.
func (l *Line) Send(now time.Duration, n int) {
	l.advance(Duration(now))
	l.waiting = append(l.waiting, n)
	l.post()
}

// Advance handles everything up to the time now. It returns how many bytes have arrived since the
// beginning, and the time of the next event. ok is false if nothing is under way.
func (l *Line) Advance(now time.Duration) (arrived uint64, next time.Duration, ok bool) {
	l.advance(Duration(now))
	at, ok := l.next()
	return l.arrived, at.Duration(), ok
}

// next returns the time of the next event.
func (l *Line) next() (at Time, ok bool) {
	at, ok = l.sim.Next()
	if len(l.landed) > 0 && (!ok || l.landed[0].at < at) {
		return l.landed[0].at, true
	}
	return at, ok
}

func (l *Line) advance(to Time) {
	for at, ok := l.next(); ok && at <= to; at, ok = l.next() {
		l.step(at)
	}
	l.step(to)
}

// step moves the Sim to the time at, before which nothing happens.
func (l *Line) step(at Time) {
	if err := l.sim.Advance(at); err != nil {
		panic("BUG: " + err.Error()) // NewLine has checked the threshold
	}
	for o, ok := l.sim.Outcome(); ok; o, ok = l.sim.Outcome() {
		if o.Kind == Arrived {
			l.landed = append(l.landed, visible{o.At + l.sim.params.Notify, o.Bytes})
		}
	}
	for len(l.landed) > 0 && l.landed[0].at <= at {
		l.arrived += uint64(l.landed[0].n)
		l.landed = l.landed[1:]
	}
	l.post()
}

// post posts the messages for which there is room.
func (l *Line) post() {
	for len(l.waiting) > 0 && l.sim.Room(0) > 0 {
		if _, err := l.sim.Post(0, l.waiting[0]); err != nil {
			panic("BUG: " + err.Error())
		}
		l.waiting = l.waiting[1:]
	}
}
