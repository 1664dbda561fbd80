package pipeline

// A Model is the closed form of a Sim: the time of one message on idle engines, and the rate of
// many. It is a value; all its methods compute from the parameters alone.
//
// Number the stages 0 to 4. Stage i takes oᵢ for a packet, gᵢ for each byte, and dᵢ of delay. A
// packet of n bytes passes in k fragments of c bytes, of which the last one has r. With Coarse, k
// is 1 and c and r are n.
//
// One packet. The time of its last byte is that of the longest chain of steps, each of which waits
// for the one before it. A chain goes from the first fragment at the first stage to the last
// fragment at the last stage. It either follows a fragment to the next stage, or waits at a stage
// for the next fragment. So it collects the oᵢ of the stages that it meets with the first fragment,
// up to some stage a; then it waits for all fragments at the slowest stage; and it follows the last
// fragment from some stage e on:
//
//	max    Σ (oᵢ + c·gᵢ)  +  Σ c·gᵢ + (k−3)·c·max gᵢ  +  Σ r·gᵢ  +  Σ dᵢ
//	a ≤ e  i≤a               a≤i≤e           a≤i≤e       i≥e
//
// With Coarse this is Σ (oᵢ + n·gᵢ + dᵢ).
//
// Many packets. The slowest stage b, with oᵢ + n·gᵢ for each packet, works without a pause. Before
// it comes the way of the first packet to b, and after it the way of the last two packets from b.
//
// Many messages. The slowest stage sets the rate, if the host and the engine queue keep up. So the
// rates of Coarse and Fine are the same: in both, the slowest stage never waits. An engine queue of
// E messages does not keep up if one message takes more than E times as long as the slowest stage
// needs, from the moment at which the engine sees it until the engine sees its successor.
//
// Where it is exact: Latency of up to two packets, and of any number with Coarse, is that of the
// Sim to the picosecond. Latency of more packets with Fine leaves out chains that change the stage
// in several packets; no random parameters have shown a difference. Where it approximates:
// Bandwidth is the rate of a long stream. The first messages, while queues fill, have another rate,
// and so has a direction that shares a DMA with the other one.
type Model struct {
	params     Params
	pipelining Pipelining
	cost       [stages]Cost
}

// NewModel returns the Model of a Sim with the same arguments. The error is that of
// Params.Validate. The Model does not detect underruns: if the threshold is too low, its results
// are meaningless.
func NewModel(p Params, pipelining Pipelining) (Model, error) {
	if err := p.Validate(); err != nil {
		return Model{}, err
	}
	return Model{params: p, pipelining: pipelining, cost: p.costs()}, nil
}

// Latency returns the time from Post to Delivered of a message of n bytes, if nothing else is under
// way.
func (m Model) Latency(n int) Time {
	t := m.params.Post + m.pass(n, RDMA) + m.params.Notify
	for _, c := range m.cost {
		t += c.Delay
	}
	return t
}

// Bandwidth returns the rate of an endless stream of messages of n bytes in one direction, in bytes
// per second.
func (m Model) Bandwidth(n int) float64 {
	period, _ := m.period(n)
	return rate(n, period)
}

// Bottleneck returns the limit of the Bandwidth of messages of n bytes: the name of a Stage, "host"
// for the host that writes descriptors, or "queue" for an engine queue that is too short.
func (m Model) Bottleneck(n int) string {
	_, name := m.period(n)
	return name
}

// FinePackets returns how many packets of a long message the link sends before all of a packet has
// arrived, with Fine. A slow link falls behind the DMA, so more and more of the next packet has
// arrived when the link begins it. After this number of packets the pipelining is coarse. ok is
// false if that never happens, because the link is not the slowest stage of the sender. The number
// is that of the Sim, unless the first fragment of a packet arrives in the same moment as the last
// one.
func (m Model) FinePackets() (packets int, ok bool) {
	n := m.params.MaxPacket
	whole, begin := m.packet(n, SDMA, Transmit), m.head(n, Send)
	if begin >= whole {
		return 0, true // the link waits for all of a packet
	}
	link := m.cost[Send].of(n, true)
	before := max(m.cost[SDMA].of(n, true), m.cost[Transmit].of(n, true))
	if link <= before {
		return 0, false
	}
	// Packet i has arrived at whole + i·before, and the link turns to it at begin + i·link.
	gain := link - before
	return int((whole - begin + gain - 1) / gain), true
}

// period returns the time between two messages of a long stream, in picoseconds, and the name of
// its limit. The engine queue is the limit if its messages are too few to fill the time from one
// refill to the next.
func (m Model) period(n int) (period float64, name string) {
	count, last := m.params.packets(n)
	for i, c := range m.cost {
		if t := float64(Time(count-1)*c.of(m.params.MaxPacket, true) + c.of(last, true)); t > period {
			period, name = t, Stage(i).String()
		}
	}
	if t := float64(m.params.Post); t > period {
		period, name = t, "host"
	}
	cycle := m.params.Refill + m.params.Post + m.cost[SDMA].Delay + m.cost[Transmit].Delay + m.pass(n, Send)
	if t := float64(cycle) / float64(m.params.EngineQueue); t > period {
		period, name = t, "queue"
	}
	return period, name
}

// rate returns the rate of n bytes in each period, in bytes per second. A period of 0 has none.
func rate(n int, period float64) float64 {
	if period == 0 {
		return 0
	}
	return float64(n) / (period / float64(Second))
}

// pass returns the time in which a message of n bytes passes the stages up to to, without delays.
func (m Model) pass(n int, to Stage) (longest Time) {
	count, last := m.params.packets(n)
	if count == 1 {
		return m.packet(last, SDMA, to)
	}
	full := m.params.MaxPacket
	for b := SDMA; b <= to; b++ {
		steady := m.head(full, b) + Time(count-2)*m.cost[b].of(full, true)
		for j := b; j <= to; j++ {
			longest = max(longest, steady+m.packet(full, b, j)+m.packet(last, j, to))
		}
	}
	return longest
}

// head returns the time until the first fragment of a packet of n bytes is at stage to.
func (m Model) head(n int, to Stage) (t Time) {
	_, c, _ := m.params.fragments(n, m.pipelining)
	from := SDMA
	if to >= Send {
		t, from = m.packet(m.begun(n), SDMA, Transmit), Send
	}
	for i := from; i < to; i++ {
		t += m.cost[i].of(c, true)
	}
	return t
}

// begun returns how many bytes of a packet of n bytes have arrived when Send begins it.
func (m Model) begun(n int) int {
	_, c, _ := m.params.fragments(n, m.pipelining)
	return min(n, c*m.params.threshold(Send, n, m.pipelining))
}

// packet returns the time from the beginning of a packet of n bytes at a stage until its last byte
// has passed stage to, if it need not wait for other packets. A Gapless link waits for its
// threshold of the packet, and for nothing after that.
func (m Model) packet(n int, from, to Stage) Time {
	if m.params.Gapless && from < Send && to >= Send {
		return m.chain(m.begun(n), from, Transmit) + m.chain(n, Send, to)
	}
	return m.chain(n, from, to)
}

// chain returns the longest chain of steps of a packet of n bytes, from the beginning at stage from
// to the end at stage to.
func (m Model) chain(n int, from, to Stage) (longest Time) {
	k, c, r := m.params.fragments(n, m.pipelining)
	if k == 1 {
		for i := from; i <= to; i++ {
			longest += m.cost[i].of(n, true)
		}
		return longest
	}
	first := Time(0) // with the first fragment up to stage a
	for a := from; a <= to; a++ {
		first += m.cost[a].of(c, true)
		middle, slowest := Time(0), Time(0) // with the fragments between, up to stage e
		for e := a; e <= to; e++ {
			if k > 2 {
				slowest = max(slowest, m.cost[e].of(c, false))
				middle += m.cost[e].of(c, false)
			}
			last := Time(0)
			for i := e; i <= to; i++ {
				last += m.cost[i].of(r, false)
			}
			longest = max(longest, first+middle+Time(k-3)*slowest+last)
		}
	}
	return longest
}
