package rsockets

import "github.com/rddp/rddp/internal/states"

// An End is how far one end of a stream has come to its end:
//
//	open ──Shutdown──▶ shut ──Disconnect──▶ gone
//	  └──────────────Disconnect─────────────▲
type End uint8

// The Ends.
const (
	EndOpen End = iota // it may send data
	EndShut            // it sends no more data, and still receives
	EndGone            // it neither sends nor receives
)

var endNames = [...]string{"open", "shut", "gone"}

func (e End) String() string { return endNames[e] }

var endNext = states.Table[End]{
	EndOpen: states.To(EndShut, EndGone),
	EndShut: states.To(EndGone),
	EndGone: 0,
}

// become changes e; nothing else does. It reports false if e is next already, or further.
func (e *End) become(next End) bool {
	if !endNext.Has(*e, next) {
		return false
	}
	endNext.Become(e, next)
	return true
}

// Ends has the End of both ends.
type Ends struct{ Own, Peer End }

// Close brings this end to next, and returns the word for the peer. tell is false if the peer needs
// none. An end that has nothing more to send or to receive is gone.
func (e *Ends) Close(next End) (w Word, tell bool) {
	if next == EndShut && e.Peer != EndOpen {
		next = EndGone
	}
	if !e.Own.become(next) {
		return 0, false
	}
	if next == EndShut {
		return NewWord(OpControl, Shutdown), true
	}
	return NewWord(OpControl, Disconnect), true
}

// Heard notes an OpControl word of the peer. The error, an ErrStream, says that the peer may not
// send it.
func (e *Ends) Heard(data uint32) error {
	switch {
	case data == KeepAlive:
		return nil
	case data == Shutdown && e.Peer.become(EndShut), data == Disconnect && e.Peer.become(EndGone):
		return nil
	}
	return streamError("control %d of an end that is %v", data, e.Peer)
}

// HeardData returns an ErrStream if the peer has said that it sends no more data.
func (e *Ends) HeardData() error {
	if e.Peer != EndOpen {
		return streamError("data of an end that is %v", e.Peer)
	}
	return nil
}
