package main

import (
	"encoding/binary"
	"time"
)

// The model: servers work for two sites, and a burst needs most of them.
const (
	sites     = 2
	nodes     = 8
	balancers = 4 // number b works for site b % sites
	many      = 6 // servers that the site with the burst needs
	few       = nodes - many
	period    = 500 * time.Millisecond // from one burst to the next
	switching = 10 * time.Millisecond  // time for which a moved server works for neither site
	patience  = 10 * time.Millisecond  // of requests: those that would wait longer are lost
)

// The words of the shared state, in this order.
const (
	loads    = 0               // of each server: microseconds of work that wait
	sitesAt  = loads + nodes   // of each server: the number of its site
	locks    = sitesAt + nodes // of each site: 1 while a load balancer moves a server to it
	counters = locks + sites   // of each load balancer: moves of the others
	words    = counters + balancers
	wordLen  = 8
)

// A state is a copy of the shared state.
type state [words]uint64

// parse reads the words of a copy. Words of the shared state are in the order of this machine's
// bytes, as atomics need them.
func (s *state) parse(b []byte) {
	for i := range s {
		s[i] = binary.NativeEndian.Uint64(b[i*wordLen:])
	}
}

// first returns the state before the first burst: each site has half of the servers.
func first() (b []byte) {
	var s state
	for i := range nodes {
		s[sitesAt+i] = uint64(i % sites)
	}
	for _, w := range s {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// A model tracks the requests that wait for each site, in seconds of one server's work.
type model struct {
	begin   time.Time // of the first burst, which goes to site 0
	at      time.Time
	site    [nodes]uint64
	ready   [nodes]time.Time // when a server works again
	waiting [sites]float64
	offered float64
	lost    float64
}

func newModel(begin time.Time) *model {
	m := &model{begin: begin, at: begin}
	for i := range m.site {
		m.site[i] = uint64(i % sites)
	}
	return m
}

// hot returns the site that has the burst.
func hot(begin, at time.Time) uint64 { return uint64(at.Sub(begin)/period) % sites }

// step is the resolution of the model.
const step = 100 * time.Microsecond

// run runs the model until a time.
func (m *model) run(until time.Time) {
	for ; m.at.Before(until); m.at = m.at.Add(step) {
		var working [sites]int
		for i, s := range m.site {
			if !m.at.Before(m.ready[i]) {
				working[s]++
			}
		}
		for s := range m.waiting {
			need := few
			if uint64(s) == hot(m.begin, m.at) {
				need = many
			}
			arrived := float64(need-1) * step.Seconds() // so that a backlog shrinks
			done := min(m.waiting[s]+arrived, float64(working[s])*step.Seconds())
			most := float64(max(working[s], 1)) * patience.Seconds()
			m.lost += max(m.waiting[s]+arrived-done-most, 0)
			m.waiting[s] = min(m.waiting[s]+arrived-done, most)
			m.offered += arrived
		}
	}
}

// move records that a server works for another site.
func (m *model) move(server int, site uint64, at time.Time) {
	m.run(at)
	m.site[server], m.ready[server] = site, at.Add(switching)
}

// count returns how many servers a site has.
func (m *model) count(site uint64) (n int) {
	for _, s := range m.site {
		if s == site {
			n++
		}
	}
	return n
}

// load returns the load of a server.
func (m *model) load(server int) uint64 {
	s := m.site[server]
	return uint64(m.waiting[s] / float64(max(m.count(s), 1)) * 1e6)
}
