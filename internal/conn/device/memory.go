package device

// A layout says where the buffers of a connection lie in its Region: first those for receives, then
// those for Sends. Lengths are in bytes.
type layout struct {
	receives, receiveLen int
	sends, sendLen       int
}

func (l layout) len() int { return l.receives*l.receiveLen + l.sends*l.sendLen }

// receive returns where the buffer i for receives lies, and send where the buffer i for Sends lies.
func (l layout) receive(i int) int { return i * l.receiveLen }
func (l layout) send(i int) int    { return l.receives*l.receiveLen + i*l.sendLen }
