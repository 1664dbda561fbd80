package extsock

// MemoryReserved returns how many octets of SetMemoryLimit nobody else can have: those in use and the windows.
func MemoryReserved() int64 { return common.taken.Load() }

// Window returns for how many messages the peer of c has credits at most.
func Window(c *Conn) int { return int(c.verbs.pump.in.window.Load()) }

// Driving reports whether a Read of c receives for itself.
func Driving(c *Conn) bool { return c.verbs.pump.role.driving.Load() }

// Waiting reports whether a Read of c waits for octets.
func Waiting(c *Conn) bool {
	in := c.verbs.pump.in
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waiting
}
