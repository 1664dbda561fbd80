package badlink

import (
	"context"
	"sync"

	"github.com/rddp/rddp/internal/locks"
)

// A Joint is a link between two devices.
type Joint struct {
	devices [2]Device
	ends    [2]*End // ends[i] carries the packets of devices[i]
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	stop    sync.Once

	mu locks.Mutex[locks.Leaf]
	// +checklocks:mu
	err error // of the device that ended the Joint
}

// Join carries packets between the devices x and y, over a link with the faults of cfg: AB applies
// to packets from x to y. Join returns at once, and carries packets until ctx is done, until Close,
// or until a Read of a device fails. Then it closes both devices. If Join itself returns an error,
// a *ConfigError or the error of ctx, it has not touched the devices.
func Join(ctx context.Context, x, y Device, cfg Config) (*Joint, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.MTU == 0 {
		cfg.MTU = max(x.MTU(), y.MTU())
	}
	a, b, err := Pipe(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	j := &Joint{devices: [2]Device{x, y}, ends: [2]*End{a, b}, cancel: cancel}
	context.AfterFunc(ctx, func() { j.end(nil) })
	for i := range j.devices {
		j.wg.Go(func() { j.carryIn(j.devices[i], j.ends[i]) })
		j.wg.Go(func() { j.carryOut(j.ends[i], j.devices[i]) })
	}
	return j, nil
}

// carryIn carries packets from the device to its end of the link.
func (j *Joint) carryIn(from Device, to *End) {
	p := make([]byte, max(from.MTU(), to.MTU()))
	for {
		n, err := from.Read(p)
		if err != nil {
			j.end(err)
			return
		}
		if _, err := to.Write(p[:n]); isClosed(err) {
			return
		} else if err != nil && n > 0 {
			to.out.tooLong(n)
		}
	}
}

// carryOut carries packets from the end of the link to its device. A packet that the device refuses
// is lost.
func (j *Joint) carryOut(from *End, to Device) {
	p := make([]byte, from.MTU())
	for {
		n, err := from.Read(p)
		if err != nil {
			return
		}
		if _, err := to.Write(p[:n]); err != nil {
			from.in.refuse()
		}
	}
}

// end closes everything. err is that of a device, or nil.
func (j *Joint) end(err error) {
	j.stop.Do(func() {
		if err != nil && !isClosed(err) {
			j.mu.Lock()
			j.err = err
			j.mu.Unlock()
		}
		for i := range j.devices {
			j.ends[i].Close()
			j.devices[i].Close()
		}
		j.cancel()
	})
}

// Close closes both devices and returns when no more packets are carried. If a device has already
// ended the Joint, Close returns its error, unless the device had only been closed.
func (j *Joint) Close() error {
	j.end(nil)
	j.wg.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// SetFaults changes the faults of future packets, as End.SetFaults does. ab applies to packets from
// x to y. If it returns an error, it has changed nothing.
func (j *Joint) SetFaults(ab, ba Faults) error {
	if err := (Config{AB: ab, BA: ba}).check(); err != nil {
		return err
	}
	j.ends[0].out.set(ab)
	j.ends[1].out.set(ba)
	return nil
}

// Stats returns the counts of the packets from x to y, and of those from y to x.
func (j *Joint) Stats() (ab, ba Stats) { return j.ends[0].Stats(), j.ends[1].Stats() }
