package pipeline

import "fmt"

// A Cost is the cost of one stage of the pipeline.
type Cost struct {
	// PerPacket is the time for which a packet occupies the stage before its first byte.
	PerPacket Time
	// PerByte is the time for which each byte of payload occupies the stage.
	PerByte Time
	// Delay is the time between a byte's leaving the stage and its arrival at the next stage. It
	// occupies nothing: other bytes follow meanwhile. It models the round trip of a DMA read, or
	// the length of a cable.
	Delay Time
}

// of returns how long n bytes occupy the stage, including PerPacket if they are the first bytes of
// the packet.
func (c Cost) of(n int, first bool) Time {
	t := Time(n) * c.PerByte
	if first {
		t += c.PerPacket
	}
	return t
}

// Pipelining is how much of a packet must have arrived at a stage before the stage begins it.
type Pipelining uint8

const (
	// Coarse is store and forward: a stage begins a packet when all of it has arrived. Different
	// packets are in different stages at the same time.
	Coarse Pipelining = iota
	// Fine is cut-through: a stage begins a packet when a threshold of its bytes has arrived. One
	// packet is in several stages at the same time.
	Fine
)

func (p Pipelining) String() string {
	if p == Coarse {
		return "coarse"
	}
	return "fine"
}

// A Stage is a stage of the pipeline, in the order in which bytes pass.
type Stage uint8

const (
	// SDMA moves bytes from the sender's host memory to its engine's memory.
	SDMA Stage = iota
	// Transmit is the processing in the sender's engine: headers and, if it is separate, the
	// checksum.
	Transmit
	// Send moves bytes from the sender's engine to the link, which puts them into the memory of the
	// receiver's engine.
	Send
	// Receive is the processing in the receiver's engine.
	Receive
	// RDMA moves bytes from the memory of the receiver's engine to its host memory.
	RDMA

	stages = 5
)

func (s Stage) String() string {
	return [stages]string{"SDMA", "transmit", "SEND", "receive", "RDMA"}[s]
}

// Params describes two engines and the link between them. Both ends are alike. A descriptor
// describes one message. The engine cuts it into packets.
//
// The checksum is one that follows the data, as the CRC of MPA does: with Fine the first bytes of a
// packet leave before the last ones have been summed. A checksum in front of the data, as TCP's,
// permits Coarse only.
type Params struct {
	Name string

	// MaxPacket is the maximum number of payload bytes in a packet, at least 1.
	MaxPacket int

	// Post is the time in which the host writes a descriptor to the engine's queue. The host writes
	// one descriptor after the other.
	Post Time
	// Notify is the time from the message's last byte in host memory until the receiving program
	// knows of it.
	Notify Time

	// ReadHost is the DMA from host memory, and WriteHost the DMA to it.
	ReadHost, WriteHost Cost
	// SharedDMA means that each end has one DMA engine for both directions, as on a PCI bus.
	// Without it the directions do not disturb each other, as with PCI Express.
	SharedDMA bool

	// Engine is the processing of packets, at either end. Its PerByte is 0 in most engines, because
	// bytes need no processing other than the checksum.
	Engine Cost
	// Checksum is the time in which the engine sums a byte in its own memory. It counts if
	// SeparateChecksum is set. Otherwise the DMA sums the bytes as they pass, at no cost.
	Checksum         Time
	SeparateChecksum bool

	// Link is the link. PerPacket is the time of headers, preamble and gap, and Delay that of the
	// cable and the switches.
	Link Cost
	// Gapless means that the bytes of a packet must follow one another on the link without a pause,
	// as in an Ethernet frame. Without it the sender may pause within a packet.
	Gapless bool

	// Fragment is the granularity of Fine, in bytes: a stage sees that many bytes arrive at a time,
	// and begins with the first of them. At least 1.
	Fragment int
	// Threshold is the number of bytes of a packet that must have arrived before a Gapless link
	// begins to send it, with Fine. It is rounded up to whole fragments. Zero means MinThreshold.
	Threshold int

	// HostQueue and EngineQueue are the depths of the two-level queue, in messages.
	HostQueue, EngineQueue int
	// Refill is the time from a completion until the host begins to Post the descriptor that moves
	// from the host queue to the engine queue. Meanwhile the host can work on other descriptors.
	Refill Time
}

// Validate returns a *ParamError for the first parameter that is out of range, or nil.
func (p *Params) Validate() error {
	for _, f := range []struct {
		name     string
		n, least int
	}{
		{"MaxPacket", p.MaxPacket, 1}, {"Fragment", p.Fragment, 1}, {"Threshold", p.Threshold, 0},
		{"HostQueue", p.HostQueue, 0}, {"EngineQueue", p.EngineQueue, 1},
	} {
		if f.n < f.least {
			return &ParamError{f.name, fmt.Sprintf("is %d, and must be at least %d", f.n, f.least)}
		}
	}
	times := []struct {
		name string
		t    Time
	}{{"Post", p.Post}, {"Notify", p.Notify}, {"Checksum", p.Checksum}, {"Refill", p.Refill}}
	for i, c := range []Cost{p.ReadHost, p.WriteHost, p.Engine, p.Link} {
		name := [...]string{"ReadHost", "WriteHost", "Engine", "Link"}[i]
		for j, t := range []Time{c.PerPacket, c.PerByte, c.Delay} {
			times = append(times, struct {
				name string
				t    Time
			}{name + "." + [...]string{"PerPacket", "PerByte", "Delay"}[j], t})
		}
	}
	for _, t := range times {
		if t.t < 0 {
			return &ParamError{t.name, fmt.Sprintf("is %d ps, and must not be negative", t.t)}
		}
	}
	return nil
}

// costs returns the cost of each stage.
func (p *Params) costs() (c [stages]Cost) {
	engine := p.Engine
	if p.SeparateChecksum {
		engine.PerByte += p.Checksum
	}
	return [stages]Cost{SDMA: p.ReadHost, Transmit: engine, Send: p.Link, Receive: engine, RDMA: p.WriteHost}
}

// packets returns how many packets a message of n bytes has, and how many bytes the last one has.
// An empty message is one packet without payload.
func (p *Params) packets(n int) (count, last int) {
	if n == 0 {
		return 1, 0
	}
	count = (n + p.MaxPacket - 1) / p.MaxPacket
	return count, n - (count-1)*p.MaxPacket
}

// fragments returns how many fragments a packet of n bytes has, and how many bytes all but the last
// one, and the last one, have.
func (p *Params) fragments(n int, pipelining Pipelining) (count, size, last int) {
	if pipelining == Coarse || n <= p.Fragment {
		return 1, n, n
	}
	count = (n + p.Fragment - 1) / p.Fragment
	return count, p.Fragment, n - (count-1)*p.Fragment
}

// MinThreshold returns how many bytes of a packet of n bytes must have arrived before a Gapless
// link may begin to send it with Fine, so that it never needs a byte that has not arrived. The
// result is a multiple of Fragment, or n.
//
// From its first fragment on the link takes one fragment in each Fragment × Link.PerByte, after the
// time of the headers. The fragments that are missing at that moment arrive one in each Fragment ×
// PerByte of the slowest stage before the link. The last of them must not be late. If the link is
// the slowest, a single fragment is enough.
func (p *Params) MinThreshold(n int) int {
	count, size, _ := p.fragments(n, Fine)
	c := p.costs()
	arrives := Time(size) * max(c[SDMA].PerByte, c[Transmit].PerByte)
	if count == 1 || arrives == 0 {
		return min(n, p.Fragment)
	}
	ahead := int((c[Send].PerPacket + Time(count-1)*Time(size)*c[Send].PerByte) / arrives)
	return min(n, max(1, count-ahead)*size)
}

// threshold returns how many fragments of a packet must have arrived before stage s begins it.
func (p *Params) threshold(s Stage, n int, pipelining Pipelining) int {
	count, size, _ := p.fragments(n, pipelining)
	if s != Send || !p.Gapless || count == 1 {
		return 1
	}
	bytes := p.Threshold
	if bytes == 0 {
		bytes = p.MinThreshold(n)
	}
	return min(count, max(1, (bytes+size-1)/size))
}
