package badlink

import (
	"fmt"
	"time"
)

const (
	minMTU           = 68 // RFC 791 §3.2
	maxMTU           = 65535
	defaultMTU       = 1500
	defaultQueue     = 1000
	defaultReorderBy = 8
	defaultHold      = 2 * time.Millisecond
)

// A Config describes a link. The zero value is a link without faults.
type Config struct {
	// Seed determines every random decision.
	Seed uint64
	// MTU is the maximum length of a packet in bytes, from 68 to 65535. Zero means 1500 for Pipe,
	// and for Join the larger of the two devices' MTUs.
	MTU int
	// AB are the faults of packets from the first end or device to the second, BA those of packets
	// from the second to the first.
	AB, BA Faults
}

// Faults describes what happens to the packets of one direction. The zero value is a direction that
// delivers each packet at once and in order. Probabilities are from 0 to 1 and are per packet. The
// faults are in the order in which a packet meets them.
type Faults struct {
	// BlackHole, unless it is nil, reports whether a packet vanishes. It gets the number of the
	// packet, counted from 0, and the time since the link was made. The link calls it under a lock,
	// one packet at a time. It must not call methods of the link.
	BlackHole func(k uint64, since time.Duration) bool
	// PathMTU, unless it is 0, is the length in bytes above which packets vanish, as if a router
	// behind this link had a smaller MTU.
	PathMTU int
	// PacketTooBig makes the link answer a packet longer than PathMTU with the ICMP message of such
	// a router: Fragmentation Needed (RFC 1191) or Packet Too Big (RFC 8201). Without it the path
	// is a black hole for these packets (RFC 2923). The answer meets no fault but Rate, Queue,
	// Delay and Jitter of the other direction.
	PacketTooBig bool
	// Loss is the probability that a packet is lost outside bursts.
	Loss float64
	// Burst describes losses in bursts.
	Burst Burst

	// Corrupt is the probability that one bit of the packet is inverted. In a packet with a TCP
	// segment the bit is in the segment, and the TCP checksum becomes wrong.
	Corrupt float64
	// CorruptRepaired is the probability that one bit of a TCP segment's payload is inverted and
	// its checksum is adapted, so TCP does not notice. Packets without TCP payload are not changed.
	CorruptRepaired float64
	// Duplicate is the probability that a second copy of the packet is sent right after it. The
	// copy is neither cut nor held back, so it may come first.
	Duplicate float64
	// Split is the probability that a TCP segment is cut in 2 to 4 segments, at random places of
	// its payload. Merge is the probability that a TCP segment waits for the next packet and
	// becomes one segment with it, if that packet continues it and the MTU has room for both. Other
	// packets pass unchanged: those without TCP payload, fragments, segments with SYN, RST or URG,
	// and segments whose checksum is wrong.
	Split, Merge float64
	// Reorder is the probability that a packet is held back until others have overtaken it, at
	// least 1 and at most ReorderBy. Zero for ReorderBy means 8. Packets that are themselves lost
	// or held back do not count.
	Reorder   float64
	ReorderBy int
	// Hold is the maximum time for which Reorder or Merge holds a packet back if the packets that
	// it waits for do not come. Zero means 2 ms.
	Hold time.Duration

	// Rate is the number of bits per second that leave the link's queue. Zero means no limit.
	Rate int64
	// Queue is the maximum number of packets that wait for Rate, the one that is being sent
	// included. It is also the maximum number of packets that have arrived and wait for Read. A
	// packet that comes while a queue is full is dropped. Zero means 1000.
	Queue int
	// Delay is how long a packet travels after it has left the queue. Jitter is the maximum time
	// added at random. A packet that would overtake the one before it by Jitter arrives together
	// with that one.
	Delay, Jitter time.Duration
}

// Burst describes losses in bursts by the model of Gilbert and Elliott. Before each packet the
// direction enters a burst with the probability Enter or, if it is in one, leaves it with the
// probability Leave. So a burst has a mean length of 1/Leave packets. The probability that a packet
// is lost in a burst is Loss.
type Burst struct{ Enter, Leave, Loss float64 }

// Outages returns a function for Faults.BlackHole: the link works for the time up, then loses
// everything for the time down, and so on. If both are 0 or negative, it loses nothing.
func Outages(up, down time.Duration) func(k uint64, since time.Duration) bool {
	up, down = max(up, 0), max(down, 0)
	if down == 0 {
		return func(uint64, time.Duration) bool { return false }
	}
	return func(_ uint64, since time.Duration) bool { return since%(up+down) >= up }
}

// check returns a *ConfigError if a field has a value that no link can have.
func (c Config) check() error {
	if c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU) {
		return &ConfigError{"MTU", fmt.Sprintf("%d is not in the range %d to %d", c.MTU, minMTU, maxMTU)}
	}
	if err := c.AB.check("AB."); err != nil {
		return err
	}
	return c.BA.check("BA.")
}

// check returns a *ConfigError if a field has a bad value. The names of fields begin with prefix.
func (f Faults) check(prefix string) error {
	for _, p := range []struct {
		field string
		value float64
	}{
		{"Loss", f.Loss}, {"Burst.Enter", f.Burst.Enter}, {"Burst.Leave", f.Burst.Leave}, {"Burst.Loss", f.Burst.Loss},
		{"Corrupt", f.Corrupt}, {"CorruptRepaired", f.CorruptRepaired}, {"Duplicate", f.Duplicate},
		{"Split", f.Split}, {"Merge", f.Merge}, {"Reorder", f.Reorder},
	} {
		if !(p.value >= 0 && p.value <= 1) { // written so that NaN fails
			return &ConfigError{prefix + p.field, fmt.Sprintf("%v is no probability", p.value)}
		}
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"PathMTU", int64(f.PathMTU)}, {"ReorderBy", int64(f.ReorderBy)}, {"Hold", int64(f.Hold)}, {"Rate", f.Rate},
		{"Queue", int64(f.Queue)}, {"Delay", int64(f.Delay)}, {"Jitter", int64(f.Jitter)},
	} {
		if n.value < 0 {
			return &ConfigError{prefix + n.field, fmt.Sprintf("%d is negative", n.value)}
		}
	}
	if f.PathMTU != 0 && f.PathMTU < minMTU {
		return &ConfigError{prefix + "PathMTU", fmt.Sprintf("%d is less than %d", f.PathMTU, minMTU)}
	}
	for _, t := range []struct {
		field string
		value time.Duration
	}{{"Hold", f.Hold}, {"Delay", f.Delay}, {"Jitter", f.Jitter}} {
		if t.value > maxTime {
			return &ConfigError{prefix + t.field, fmt.Sprintf("%v is longer than %v", t.value, maxTime)}
		}
	}
	if f.PacketTooBig && f.PathMTU == 0 {
		return &ConfigError{prefix + "PacketTooBig", "there is no PathMTU"}
	}
	return nil
}

// maxTime keeps sums of times far from overflow.
const maxTime = 365 * 24 * time.Hour

// withDefaults returns f with zeros replaced by the defaults.
func (f Faults) withDefaults() Faults {
	if f.ReorderBy == 0 {
		f.ReorderBy = defaultReorderBy
	}
	if f.Hold == 0 {
		f.Hold = defaultHold
	}
	if f.Queue == 0 {
		f.Queue = defaultQueue
	}
	return f
}

// none reports whether packets pass at once and unchanged.
func (f *Faults) none() bool {
	return f.BlackHole == nil && f.PathMTU == 0 && f.Loss == 0 && f.Burst == Burst{} && f.Corrupt == 0 && f.CorruptRepaired == 0 &&
		f.Duplicate == 0 && f.Split == 0 && f.Merge == 0 && f.Reorder == 0 && f.Rate == 0 && f.Delay == 0 && f.Jitter == 0
}
