package driver

// This file contains what the tests of package extsock inspect. Nothing else uses it.

// An Inspection is what a Driver is doing at one moment.
type Inspection struct {
	// Live says that the Driver has been started and has not ended. The Totals would not tell, because
	// connections of other tests may end at any time.
	Live    bool
	Driving bool  // a Read holds the receive role
	Waits   bool  // a Read waits for bytes
	Unread  int64 // bytes of memory that the unread messages take
}

// Inspect returns what d is doing.
func (d *Driver) Inspect() Inspection {
	x := Inspection{Live: d.count.IsLive(), Driving: d.role.isReaders()}
	if d.in != nil {
		x.Waits, x.Unread = d.in.inspect()
	}
	return x
}

func (in *inbox) inspect() (waits bool, unread int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.box.reader.isThere(), in.box.memory.held
}

// MemoryInUse returns how many bytes of the limit are in use.
func MemoryInUse() int64 { return common.taken.Load() - common.windows.Load() + common.filled.Load() }
