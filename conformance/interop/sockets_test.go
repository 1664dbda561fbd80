//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// These tests run the program socketpeer at each end. Its extended sockets use a device by
// Config.Backend, or its own process.

// newSocketStage returns a stage of socketpeer.
func newSocketStage(t testing.TB) *stage { return newStage(t, "socketpeer", " succeeded on ") }

// socketSessions are the sessions of socketpeer, each with N for the tag conformance, and without
// the tag N on the host and N with an end in the emulated guest.
var socketSessions = []struct {
	desc, name           string
	full, onHost, guests int
}{
	{"bytes each way", "stream", 1_000_000_000, 100_000_000, 10_000_000},
	{"half-close", "half", 10_000_000, 1_000_000, 1_000_000},
	{"speaks first", "early", 1_000_000, 100_000, 100_000},
	{"deadlines", "deadline", 0, 0, 0},
	{"one-sided", "remote", 10_000_000, 10_000_000, 1_000_000},
	{"posts", "post", 1000, 300, 50},
	{"key-value store", "keyvalue", 1000, 1000, 100},
	{"connections", "crowd", 1000, 250, 50},
}

// socketPairs returns the pairs of places that talk to each other: the listening one, and the
// dialing one.
func socketPairs() (pairs [][2]place) {
	for _, listens := range iwarp {
		for _, dials := range iwarp {
			pairs = append(pairs, [2]place{listens, dials})
		}
	}
	return append(pairs, [2]place{overRxe, overRxe}, [2]place{joinedRun, joinedRun})
}

// Every place meets every other one, as the listening end and as the dialing end.
func TestSocketPairs(t *testing.T) {
	s := newSocketStage(t)
	table := strings.Builder{}
	table.WriteString("| listens | dials |")
	for _, session := range socketSessions {
		fmt.Fprintf(&table, " %s |", session.desc)
	}
	table.WriteString("\n|" + strings.Repeat(" --- |", len(socketSessions)+2) + "\n")
	for _, pair := range testmode.Share(t, socketPairs()) {
		fmt.Fprintf(&table, "| %s | %s |", pair[0], pair[1])
		for _, session := range socketSessions {
			n := session.onHost
			if pair[0].inGuest() || pair[1].inGuest() {
				n = session.guests
			}
			n = testmode.Count(session.full, n)
			result := fmt.Sprint(n)
			if n == 0 {
				result = "yes"
			}
			if !t.Run(fmt.Sprintf("%s listens, %s dials, %s", pair[0], pair[1], session.name), func(t *testing.T) {
				t.Log(s.meet(t, pair[0], pair[1], fmt.Sprint(session.name, " ", n)))
			}) {
				result = "failed"
			}
			fmt.Fprintf(&table, " %s |", result)
		}
		table.WriteString("\n")
	}
	t.Logf("who has talked to whom:\n%s", &table)
}

// When a program is killed, while bytes flow or while both ends wait, the other end's Read and
// Write return a typed error, not an end of the stream.
func TestSocketProgramKilled(t *testing.T) {
	s := newSocketStage(t)
	for _, pair := range testmode.Share(t, socketPairs()) {
		for _, session := range []string{"endless", "silent"} {
			for _, listener := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s listens, %s dials, %s, the one that listens is killed: %v", pair[0], pair[1], session, listener), func(t *testing.T) {
					killOne(t, s, pair, session, listener)
				})
			}
		}
	}
}

func killOne(t *testing.T, s *stage, pair [2]place, session string, listener bool) {
	ctx, cancel := context.WithTimeout(t.Context(), sessionLimit)
	defer cancel()
	l, d := s.begin(t, ctx, pair[0], pair[1], session+" 0")
	for _, p := range []*party{l, d} {
		if !p.heard("flowing") {
			_, said := p.wait()
			t.Fatalf("%s:\n%s", p.place, said)
		}
	}
	killed, survives := l, d
	if !listener {
		killed, survives = d, l
	}
	killed.kill(t)
	t.Log(s.ends(t, survives))
	killed.wait()
}
