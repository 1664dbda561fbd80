package driver

// This file contains what the tests of package extsock inspect. Nothing else uses it.

// IsLive reports whether d has been started and has not ended. The Totals would not tell, because
// connections of other tests may end at any time.
func (d *Driver) IsLive() bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	_, ok := live.drivers[d]
	return ok
}

// Driving reports whether a Read holds the receive role.
func (d *Driver) Driving() bool { return d.role.isReaders() }

// Waits reports whether a Read waits for bytes.
func (d *Driver) Waits() bool {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.box.reader.isThere()
}

// Unread returns how many bytes of memory the unread messages take.
func (d *Driver) Unread() int64 {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.box.memory.held
}

// MemoryInUse returns how many bytes of the limit are in use. MemoryReserved returns how many bytes
// of the limit nobody else can have: those in use, and those of the windows.
func MemoryInUse() int64    { return common.taken.Load() - common.windows.Load() + common.filled.Load() }
func MemoryReserved() int64 { return common.taken.Load() }

// ForgetPanics forgets the panics that a test has caused on purpose.
func ForgetPanics() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.ended.Panics.Store(0)
	for p := range live.drivers {
		p.count.Panics.Store(0)
	}
}
