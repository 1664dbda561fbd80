package bytestream

// A Window is the number of messages of the peer that may be on their way or unread: the peer's
// credits never exceed the window. The driver has reserved memory for all of them, so a message for
// which the peer has a credit always finds memory, and receiving never waits.
//
// The first Least messages are the connection's fixed allowance. The memory of the others comes
// from a budget that connections share. The window may shrink when the budget shrinks, and grow
// again up to its first size: the connection then keeps back credits that it owes, or gives back
// more. The zero value is no window.
type Window struct {
	Now   int   // messages
	Most  int   // messages: the peer's credits at the start
	Least int   // messages that are the allowance
	Unit  int64 // bytes that the longest message takes
}

// IsOpen reports whether there is a window.
func (w *Window) IsOpen() bool { return w.Most > 0 }

// Reserved returns how many bytes of the budget the window takes.
func (w *Window) Reserved() int64 { return int64(w.Now-w.Least) * w.Unit }

// Change says how the window should change when a buffer that held data is free again: -1, 0 or 1
// messages. room is how many bytes windows may still take from the budget, negative after the limit
// was lowered.
func (w *Window) Change(room int64) int {
	switch {
	case room < 0 && w.Now > w.Least:
		return -1
	case room >= w.Unit && w.Now < w.Most:
		return 1
	}
	return 0
}

// HandBack notes that a buffer that held data is free again, and that the window changes by change
// messages. It returns the number of buffers for which the peer gets its credits back. Only the
// credits of DataBuffers may be kept back: without that rule the two ends can deadlock, as
// conformance/models/credits.pml shows.
func (w *Window) HandBack(change int) (credits int) {
	w.Now += change
	return 1 + change
}
