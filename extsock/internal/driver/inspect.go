package driver

// This file has what the tests of package extsock look at. Nothing else uses it.

// IsLive reports whether p has been started and has not ended. Totals say less: connections of other tests may end at any
// time.
func (d *Driver) IsLive() bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	_, ok := live.drivers[d]
	return ok
}

// Driving reports whether a Read receives for itself.
func (d *Driver) Driving() bool { return d.role.isReaders() }

// Waits reports whether a Read waits for bytes.
func (d *Driver) Waits() bool {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.reader.waiting
}

// Unread returns how many bytes of memory unread messages have.
func (d *Driver) Unread() int64 {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	return d.in.memory.held
}

// MemoryInUse returns how many bytes of the limit are in use, and memoryReserved how many nobody else can have: those in
// use, and the windows.
func MemoryInUse() int64    { return common.taken.Load() - common.windows.Load() + common.filled.Load() }
func MemoryReserved() int64 { return common.taken.Load() }

// ForgetCrossovers has the crossovers measured anew.
func ForgetCrossovers() {
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	clear(crossovers.m)
}

// ForgetPanics forgets the panics that a test has brought about on purpose.
func ForgetPanics() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.ended.Panics.Store(0)
	for p := range live.drivers {
		p.count.Panics.Store(0)
	}
}
