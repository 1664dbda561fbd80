package pipeline_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rddp/rddp/conformance/lab/pipeline"
)

// pipeline.pml has the states and the threshold of the code.
func TestPipelineModelIsThatOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../../models/pipeline.pml")
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for s := pipeline.Idle; s <= pipeline.LastFragment; s++ {
		states = append(states, s.String())
	}
	mtypes := regexp.MustCompile(`(?m)^mtype = \{ (.*) \};`).FindSubmatch(text)
	if mtypes == nil || string(mtypes[1]) != strings.Join(states, ", ") {
		t.Errorf("the states are %q, in the code %q", mtypes, states)
	}
	if !strings.Contains(string(text), "#define least(n) (n - ((n - 1) * LINK) / BUS)\n") {
		t.Error("the model has another threshold than this test")
	}
	for bus := 1; bus < 8; bus++ {
		for link := 1; link < 8; link++ {
			for n := 1; n < 20; n++ {
				p := pipeline.Params{
					MaxPacket: n, Fragment: 1, EngineQueue: 1, Gapless: true,
					ReadHost: pipeline.Cost{PerByte: pipeline.Time(bus)}, Link: pipeline.Cost{PerByte: pipeline.Time(link)},
				}
				if got, want := p.MinThreshold(n), max(1, n-((n-1)*link)/bus); got != want {
					t.Errorf("%d fragments, bus %d, link %d: MinThreshold is %d, least is %d", n, bus, link, got, want)
				}
			}
		}
	}
}
