package ping

const (
	// freeData is how many bytes of ping data a connection of a server may hold in any case.
	freeData = 64 << 10
	// minMemory is the least memory that all clients of a server have together for ping data, in
	// bytes.
	minMemory = 256 << 20
)

// serverMemory returns how many bytes of ping data all clients of a server together may make it
// hold, beyond freeData each: enough for a ping of the maximum length, although the clients at one
// address get at most half.
func serverMemory(cfg *Config) int64 { return max(2*int64(cfg.limit()), minMemory) }

// hold makes room in data for n bytes. The room grows to the longest ping, and lasts as long as the
// connection.
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

// release gives the memory of data back, when the connection is closed: nothing writes to data any
// more.
func (a *answerer) release() {
	if n := cap(a.data); a.memory != nil && n > freeData {
		a.memory.Give(a.conn.RemoteAddr(), int64(n-freeData))
	}
	a.data = nil
}
