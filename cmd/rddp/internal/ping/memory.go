package ping

const (
	// freeData is the number of bytes of ping data that a server's connection may always hold.
	freeData = 64 << 10
	// minMemory is the minimum memory in bytes that all clients of a server together have for ping
	// data.
	minMemory = 256 << 20
)

// serverMemory returns the number of bytes of ping data that all clients of a server together may
// make it hold, beyond freeData each. It is enough for a ping of the maximum length, although the
// clients at one address get at most half.
func serverMemory(cfg *Config) int64 { return max(2*int64(cfg.limit()), minMemory) }

// hold resizes data to n bytes. The memory grows to the longest ping, and is kept until the
// connection ends.
func (a *answerer) hold(n int) error {
	if n > cap(a.data) {
		more := int64(max(n, freeData) - max(cap(a.data), freeData))
		if more > 0 && a.memory != nil && !a.memory.Take(a.conn.RemoteAddr(), more) {
			return ErrNoMemory
		}
		a.data = make([]byte, n)
	}
	a.data = a.data[:n]
	return nil
}

// release returns the memory of data. The connection must be closed, so nothing writes to data any
// more.
func (a *answerer) release() {
	if n := cap(a.data); a.memory != nil && n > freeData {
		a.memory.Give(a.conn.RemoteAddr(), int64(n-freeData))
	}
	a.data = nil
}
