package driver

// captureSent shows a batch that is about to be written. All of its bytes must be in the batch's
// own memory. captureSent sets the token down while a slow Tap looks.
func (t *tx) captureSent() {
	t.token.setDown()
	defer t.token.pickUp()
	t.taps.Sent(t.batch.Bufs(), t.mpa.Off()-uint64(t.batch.Len()), t.markers)
}

// captureRun shows bytes that were read to the Tap of the Config. Bytes that were shown early
// arrive a second time, and captureRun skips them then.
func (r *rx) captureRun(off uint64, run []byte) {
	if r.taps != nil && off == r.seen {
		r.seen += uint64(len(run))
		r.taps.Read(run)
	}
}

// captureArrived records the FPDUs that the last Fill has completed. A capture may have begun in
// the middle of an FPDU. At the end of the connection, captureArrived also records the last FPDU if
// only a part of it has arrived.
func (r *rx) captureArrived(end bool) {
	f := r.taps.Recording()
	if f == nil {
		return
	}
	b, n := r.mpa.Arrived()
	if end {
		n = len(b)
	}
	// After a fault, the buffer may still contain FPDUs that are recorded already.
	from := max(r.recorded, r.mpa.Edge())
	if skip := int(from - r.mpa.Edge()); skip < n {
		f.ReceivedFPDUs(b[skip:n], from, r.markers)
		r.recorded = from + uint64(n-skip)
	}
}
