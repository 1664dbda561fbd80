package driver

// This file is for tests, of package extsock for example. Nothing else uses it.

// An Inspection is what a Driver is doing at one moment.
type Inspection struct {
	// Live says that the Driver has been started and has not ended. counters.Totals would not tell,
	// because connections of other tests may end at any time.
	Live    bool
	Driving bool  // a Read holds the receive role
	Waits   bool  // a Read waits for bytes
	Unread  int64 // bytes of memory that the unread messages take, as the books say
	Held    int64 // bytes of memory that messages and grants take, counted one by one
}

// Inspect returns what d is doing.
func (d *Driver) Inspect() Inspection {
	x := Inspection{Live: d.count.IsLive(), Driving: d.role.isReaders()}
	if d.in != nil {
		d.in.inspect(&x)
	}
	return x
}

func (in *lockedDelivery) inspect(x *Inspection) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := &in.delivery
	x.Waits, x.Unread = b.reader.isThere(), b.memory.held
	b.unread.All(func(m memory, _ int) { x.Held += int64(m.chunk.Size()) })
	if c := b.placing.chunk; c != nil {
		x.Held += int64(c.Size())
	}
	if b.grant != nil {
		x.Held += int64(b.grant.size())
	}
}

// MemoryInUse returns how many bytes of the limit are in use.
func MemoryInUse() int64 { return common.taken.Load() - common.windows.Load() + common.filled.Load() }
