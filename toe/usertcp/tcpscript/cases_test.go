package tcpscript

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rddp/rddp/internal/prototest"
)

// cases are all cases.
var cases = slices.Concat(mssCases, handshakeCases, dialCases, resetCases, dataCases, windowCases, sackCases, stampCases, closeCases, timeWaitCases, wireCases, icmpCases)

// atOnce is the number of scripts that run at the same time. Most of them wait for a timer of TCP
// at some time, and hardly any needs the processor.
const atOnce = 64

// TestScripts runs every script against every TCP that this system has.
func TestScripts(t *testing.T) {
	seed := prototest.Seeded(t).Uint64()
	type outcome struct {
		name string
		err  error
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	var outcomes []*outcome
	for _, m := range makers(t) {
		for i := range cases {
			for _, v6 := range []bool{false, true} {
				c := &cases[i]
				if v6 && !c.v6 && !c.not4 || !v6 && c.not4 {
					continue
				}
				o := &outcome{name: fmt.Sprintf("%s/%s, IPv%d", m.name, c.name, map[bool]int{false: 4, true: 6}[v6])}
				outcomes = append(outcomes, o)
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					o.err = execute(c, m, v6, seed)
				})
			}
		}
	}
	wg.Wait()
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			if o.err != nil {
				t.Error(o.err)
			}
		})
	}
}

// TestCases: a case names its rule. It says why the TCPs differ exactly if its script has steps for
// one of them only. There are enough cases.
func TestCases(t *testing.T) {
	const enough = 60
	names := make(map[string]bool)
	for _, c := range cases {
		differs := strings.Contains(c.script, "user:") || strings.Contains(c.script, "linux:")
		if c.rfc == "" || names[c.name] || differs != (c.why != "") {
			t.Errorf("case %q: rule %q, why %q", c.name, c.rfc, c.why)
		}
		names[c.name] = true
	}
	if len(cases) < enough {
		t.Errorf("%d cases, want %d", len(cases), enough)
	}
}
