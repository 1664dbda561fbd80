package pipeline

import (
	"fmt"
	"slices"
)

// A Sim simulates two engines joined by a link, event by event in virtual time. It starts no
// goroutine and reads no clock: Advance moves its time. Ends have the numbers 0 and 1. One
// goroutine at a time may use a Sim.
type Sim struct {
	params     Params
	pipelining Pipelining
	events     events
	lanes      [2]*lane // lane i goes from end i to the other one
	outcomes   []Outcome
	messages   int // number of messages posted
	err        error
}

// An Outcome is something that has happened to a message.
type Outcome struct {
	Kind    OutcomeKind
	From    int // the end that sent
	Message int // the number that Post returned
	Bytes   int // of the packet if Kind is Arrived, otherwise of the message
	At      Time
}

// OutcomeKind is the kind of an Outcome.
type OutcomeKind uint8

const (
	// Completed: the last byte of the message has left the sender. Its descriptor is free.
	Completed OutcomeKind = iota
	// Arrived: all of a packet is in the receiver's host memory. Packets arrive in order.
	Arrived
	// Delivered: all of the message is there, and the receiving program knows of it.
	Delivered
)

func (k OutcomeKind) String() string {
	return [...]string{"completed", "arrived", "delivered"}[k]
}

// A message is the message of one descriptor.
type message struct {
	number, n int
	left      int // bytes that are not cut into packets
}

// A lane is one direction.
type lane struct {
	from    int
	queue   *Queue[*message]
	bells   int      // descriptors that the engine sees and has not taken
	host    Time     // until then the host is busy with descriptors
	current *message // being cut into packets
	threads [stages]thread
}

// NewSim returns a Sim in which nothing has been posted, at time 0. The error is that of
// Params.Validate.
func NewSim(p Params, pipelining Pipelining) (*Sim, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := &Sim{params: p, pipelining: pipelining}
	ends := [2]*dma{{shared: p.SharedDMA}, {shared: p.SharedDMA}}
	for i := range s.lanes {
		l := &lane{from: i, queue: NewQueue[*message](p.HostQueue, p.EngineQueue)}
		for stage, cost := range p.costs() {
			l.threads[stage] = thread{stage: Stage(stage), cost: cost}
		}
		l.threads[SDMA].dma, l.threads[RDMA].dma = ends[i], ends[1-i]
		s.lanes[i] = l
	}
	return s, nil
}

// Post posts a message of n bytes at end from, at the current time, and returns its number. If the
// queues of that end are full, the error is a *QueueFullError and nothing has changed.
func (s *Sim) Post(from, n int) (number int, err error) {
	if n < 0 || from < 0 || from > 1 {
		return 0, &ParamError{"Post", fmt.Sprintf("of %d bytes at end %d", n, from)}
	}
	l := s.lanes[from]
	level, err := l.queue.Post(&message{number: s.messages, n: n, left: n})
	if err != nil {
		return 0, err
	}
	s.messages++
	if level == EngineLevel {
		s.ring(l, 0)
	}
	return s.messages - 1, nil
}

// ring makes the engine see one more descriptor. The host notices it after the time d, and then
// posts it. It posts one descriptor after the other.
func (s *Sim) ring(l *lane, d Time) {
	l.host = max(l.host, s.events.now+d) + s.params.Post
	s.events.after(l.host-s.events.now, event{kind: doorbell, lane: l})
}

// Now returns the current time.
func (s *Sim) Now() Time { return s.events.now }

// Next returns when the next event is due. ok is false if nothing is under way.
func (s *Sim) Next() (at Time, ok bool) {
	if len(s.events.list) == 0 || s.err != nil {
		return 0, false
	}
	return s.events.list[0].at, true
}

// Advance handles all events up to the time to, and sets the time to that. A time in the past
// changes nothing. The error is an *UnderrunError, and then every later call returns it too.
func (s *Sim) Advance(to Time) error {
	for s.err == nil && len(s.events.list) > 0 && s.events.list[0].at <= to {
		s.handle(s.events.next())
	}
	if s.err == nil {
		s.events.now = max(s.events.now, to)
	}
	return s.err
}

// Run handles all events, until nothing is under way. The error is that of Advance.
func (s *Sim) Run() error {
	for s.err == nil && len(s.events.list) > 0 {
		s.handle(s.events.next())
	}
	return s.err
}

// Outcome removes and returns the oldest Outcome. ok is false if there is none.
func (s *Sim) Outcome() (o Outcome, ok bool) {
	if len(s.outcomes) == 0 {
		return o, false
	}
	o, s.outcomes = s.outcomes[0], s.outcomes[1:]
	return o, true
}

// Queued returns the number of descriptors in the queues of an end.
func (s *Sim) Queued(end int) (host, engine int) { return s.lanes[end].queue.Len() }

// Room returns how many messages Post would take at an end now.
func (s *Sim) Room(end int) int { return s.lanes[end].queue.Room() }

// Stats returns the statistics of a stage of the direction from that end.
func (s *Sim) Stats(from int, stage Stage) StageStats { return s.lanes[from].threads[stage].stats }

func (s *Sim) handle(v event) {
	l := v.lane
	switch v.kind {
	case doorbell:
		l.bells++
		s.cut(l)
	case arrival:
		s.arrived(l, v.p, v.s)
	case passed:
		s.passed(l, v.p, v.s)
	case landed:
		s.landed(l, v.p)
	case notified:
		m := v.p.message
		s.outcomes = append(s.outcomes, Outcome{Delivered, l.from, m.number, m.n, s.events.now})
	}
}

// cut gives SDMA the next packet, if SDMA has none.
func (s *Sim) cut(l *lane) {
	t := &l.threads[SDMA]
	if len(t.queue) > 0 {
		return
	}
	if l.current == nil {
		if l.bells == 0 {
			return
		}
		m, ok := l.queue.Take()
		if !ok {
			panic("BUG: the engine sees a descriptor that is not there")
		}
		l.bells--
		l.current = m
	}
	m := l.current
	p := &packet{message: m, n: min(m.left, s.params.MaxPacket)}
	m.left -= p.n
	if m.left == 0 {
		p.last, l.current = true, nil
	}
	p.count, p.size, p.end = s.params.fragments(p.n, s.pipelining)
	p.arrived[SDMA] = p.count
	t.queue = append(t.queue, p)
	t.stats.MaxQueue = max(t.stats.MaxQueue, len(t.queue))
	s.dispatch(l, SDMA)
}

// arrived handles the arrival of a fragment of p in the memory before a stage.
func (s *Sim) arrived(l *lane, p *packet, stage Stage) {
	t := &l.threads[stage]
	if p.arrived[stage] == 0 {
		t.queue = append(t.queue, p)
		t.stats.MaxQueue = max(t.stats.MaxQueue, len(t.queue))
	}
	p.arrived[stage]++
	s.dispatch(l, stage)
}

// dispatch begins the next transfer of a thread if the thread need not wait.
func (s *Sim) dispatch(l *lane, stage Stage) {
	t := &l.threads[stage]
	if len(t.queue) == 0 {
		return
	}
	p := t.queue[0]
	threshold := s.params.threshold(stage, p.n, s.pipelining)
	state, fragments, ok := t.next(threshold, stage == Send && s.params.Gapless)
	if !ok || !t.dma.acquire(l, stage) {
		return
	}
	if t.setState(state); state == CoarseGrained {
		t.stats.Coarse++
	} else {
		t.stats.Fine++
	}
	t.left = fragments
	s.pass(l, t, p)
}

// pass lets the next fragment of the transfer under way pass.
func (s *Sim) pass(l *lane, t *thread, p *packet) {
	i := p.passed[t.stage]
	if i >= p.arrived[t.stage] { // only a Gapless link begins what has not arrived
		s.err = &UnderrunError{
			From: l.from, Message: p.message.number, Sent: i * p.size, At: s.events.now, Least: s.params.MinThreshold(p.n),
			Threshold: s.params.threshold(t.stage, p.n, s.pipelining) * p.size,
		}
		return
	}
	d := t.cost.of(p.bytes(i), i == 0)
	t.stats.Busy += d
	s.events.after(d, event{kind: passed, lane: l, p: p, s: t.stage})
}

// passed handles a fragment of p that has passed a stage.
func (s *Sim) passed(l *lane, p *packet, stage Stage) {
	t := &l.threads[stage]
	p.passed[stage]++
	t.left--
	switch {
	case stage != RDMA:
		s.events.after(t.cost.Delay, event{kind: arrival, lane: l, p: p, s: stage + 1})
	case p.passed[stage] == p.count:
		s.events.after(t.cost.Delay, event{kind: landed, lane: l, p: p, s: stages})
	}
	if t.left > 0 {
		s.pass(l, t, p)
		return
	}
	if p.passed[stage] < p.count {
		t.setState(FineGrainedDone)
	} else {
		t.setState(Idle)
		t.queue = slices.Delete(t.queue, 0, 1)
		t.stats.Packets++
		t.stats.Bytes += p.n
	}
	if stage == Send && p.last && t.state == Idle {
		s.complete(l)
	}
	if other, its := t.dma.release(); other != nil {
		s.dispatch(other, its)
	}
	if stage == SDMA {
		s.cut(l)
	}
	s.dispatch(l, stage)
}

// complete ends the oldest message of a lane at the sender.
func (s *Sim) complete(l *lane) {
	m, refilled := l.queue.Complete()
	s.outcomes = append(s.outcomes, Outcome{Completed, l.from, m.number, m.n, s.events.now})
	if refilled {
		s.ring(l, s.params.Refill)
	}
}

// landed handles the arrival of all of p in the receiver's host memory.
func (s *Sim) landed(l *lane, p *packet) {
	m := p.message
	s.outcomes = append(s.outcomes, Outcome{Arrived, l.from, m.number, p.n, s.events.now})
	if p.last {
		s.events.after(s.params.Notify, event{kind: notified, lane: l, p: p, s: stages})
	}
}
