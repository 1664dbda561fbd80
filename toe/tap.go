package toe

// A Tap sees every byte of a connection above its Stream, for example to capture them: see package
// extsock/capture. Its methods are called in stream order for each direction, from any goroutine,
// and must not keep or modify p. A slow Tap makes the connection slow. A call that sends or
// receives in its own goroutine waits for the Tap even when its deadline has passed. A call that
// waits for another goroutine does not.
//
// No lock is held during the calls. A Tap may use other connections, and it may call the stop of
// Conn.StartTap of package extsock. It must not do anything else with its own connection.
type Tap interface {
	Sent(p []byte)     // p is about to be written, or in TCP mode was written
	Received(p []byte) // p was read
	Closed()           // no more calls follow; called once
}
