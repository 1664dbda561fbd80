//go:build interop

package interop

import (
	"fmt"
	"testing"
)

// newVerbsStage is a stage of verbspeer.
func newVerbsStage(t *testing.T) *stage { return newStage(t, "verbspeer", "equal SHA-256 both ways") }

// Every place meets every other one, as the end that listens and as the one that dials.
func TestVerbsPairs(t *testing.T) {
	s := newVerbsStage(t)
	for _, listens := range iwarp {
		for _, dials := range iwarp {
			t.Run(fmt.Sprintf("%s listens, %s dials", listens, dials), func(t *testing.T) {
				t.Log(s.meet(t, listens, dials, "10000000 1"))
			})
		}
	}
	for _, p := range []place{joinedRun, overRxe} {
		t.Run(string(p), func(t *testing.T) { t.Log(s.meet(t, p, p, "10000000 1")) })
	}
}

// A thousand connections of one device are there at the same time, and each is used.
func TestVerbsConnections(t *testing.T) {
	s := newVerbsStage(t)
	for _, tt := range [][2]place{{underRun, inProcess}, {inProcess, underRun}, {underRun, underRun}, {overSiw, overSiw}, {overRxe, overRxe}} {
		t.Run(fmt.Sprintf("%s listens, %s dials", tt[0], tt[1]), func(t *testing.T) {
			t.Log(s.meet(t, tt[0], tt[1], "10000 1000"))
		})
	}
}
