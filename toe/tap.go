package toe

// A Tap sees every byte of a connection above its Stream, for example to capture them: see package
// extsock/capture. Its methods are called in stream order for each direction, from any goroutine, and
// must not keep or modify p. A slow Tap makes the connection slow. A call that sends or receives in
// its own goroutine waits for the Tap even when its deadline has passed. A call that waits for another
// goroutine does not.
type Tap interface {
	Sent(p []byte)     // p is about to be written
	Received(p []byte) // p was read
	Closed()           // no more calls follow; called once
}
