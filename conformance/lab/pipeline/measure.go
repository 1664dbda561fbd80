package pipeline

// MeasureLatency simulates one message of n bytes from Post to Delivered.
func MeasureLatency(p Params, pipelining Pipelining, n int) (Time, error) {
	s, err := NewSim(p, pipelining)
	if err != nil {
		return 0, err
	}
	if _, err := s.Post(0, n); err != nil {
		return 0, err
	}
	if err := s.Run(); err != nil {
		return 0, err
	}
	for {
		o, ok := s.Outcome()
		if !ok {
			panic("BUG: a message was not delivered")
		}
		if o.Kind == Delivered {
			return o.At, nil
		}
	}
}

// MeasureBandwidth simulates a stream of messages of n bytes and returns its rate in bytes per
// second. It leaves out the first messages, so that the rate is that of a long stream.
func MeasureBandwidth(p Params, pipelining Pipelining, n int) (float64, error) {
	// The rate repeats after as many messages as the engine queue has, so it is measured over a
	// multiple of those. Short messages need more rounds, because more of them are under way.
	count, _ := p.packets(n)
	fragments, _, _ := p.fragments(min(n, p.MaxPacket), pipelining)
	rounds := max(1, min(16, 2_000/(count*fragments*max(1, p.EngineQueue))))
	skip := rounds * p.EngineQueue
	p.HostQueue = max(p.HostQueue, 2*skip)
	s, err := NewSim(p, pipelining)
	if err != nil {
		return 0, err
	}
	for range 2*skip + 1 {
		if _, err := s.Post(0, n); err != nil {
			return 0, err
		}
	}
	if err := s.Run(); err != nil {
		return 0, err
	}
	var from, to Time
	for o, ok := s.Outcome(); ok; o, ok = s.Outcome() {
		switch {
		case o.Kind == Delivered && o.Message == skip:
			from = o.At
		case o.Kind == Delivered && o.Message == 2*skip:
			to = o.At
		}
	}
	return rate(n, float64(to-from)/float64(skip)), nil
}
