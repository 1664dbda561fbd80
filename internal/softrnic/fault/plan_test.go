package fault

import (
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/toe/badlink"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		specs []string
		want  Plan
	}{
		{nil, Plan{Seed: 1}},
		{[]string{"loss=2.5%,delay=5ms", "jitter=1ms", "rate=100M,seed=7"}, Plan{
			Seed: 7, Network: badlink.Faults{Loss: 0.025, Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Rate: 100e6},
		}},
		{[]string{"rate=9"}, Plan{Seed: 1, Network: badlink.Faults{Rate: 9}}},
		{[]string{"cut@1MiB, cut@2s,cut@10B"}, Plan{Seed: 1, Cuts: []Cut{{Bytes: 1 << 20}, {After: 2 * time.Second}, {Bytes: 10}}}},
		{[]string{"send=RETRY_EXC_ERR@3,receive=LOC_PROT_ERR,register=ENOMEM@50%"}, Plan{Seed: 1, Rules: []Rule{
			{Place: Send, Status: uverbs.RetryExceeded, Number: 3, Share: 1},
			{Place: Receive, Status: uverbs.LocalProtErr, Share: 1},
			{Place: Register, Errno: syscall.ENOMEM, Share: 0.5},
		}}},
		{[]string{"qp-error@2s,event=PORT_ERR@0s"}, Plan{Seed: 1, Timed: []Timed{
			{QP: true, After: 2 * time.Second}, {Event: uverbs.EventPortErr},
		}}},
	} {
		got, err := Parse(tt.specs)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.specs, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                    "unknown; there are cut, delay,",
		"los=1%":              `"los=1%": unknown`,
		"loss":                "loss is written loss=1%",
		"loss=1":              "from 0% to 100%",
		"loss=101%":           "from 0% to 100%",
		"loss=NaN%":           "from 0% to 100%",
		"loss=1%@3":           "loss is written loss=1%",
		"delay=5":             "a time is written",
		"delay=-5ms":          "a time is written",
		"delay=8761h":         "at most 8760h",
		"jitter=8760h1ns":     "at most 8760h",
		"rate=0M":             "a number above 0",
		"rate=1KiB":           "one of the units G, M, k",
		"rate=99999999999G":   "a number above 0",
		"cut":                 "cut is written",
		"cut@3":               "after bytes, such as 1MiB, or after a time",
		"cut=1@2s":            "cut is written",
		"seed=x":              "the seed is a number",
		"send=NO_ERR":         `there is no "NO_ERR"; there are BAD_RESP_ERR,`,
		"send=FATAL_ERR@0":    "a number from 1, or a share",
		"send=FATAL_ERR@2s":   "a number from 1, or a share",
		"send=FATAL_ERR@200%": "from 0% to 100%",
		"register=EGAIN":      "there are EACCES, EAGAIN,",
		"event=PORT_ERR":      "event is written event=PORT_ERR@2s",
		"event=NO@2s":         `there is no "NO"`,
		"qp-error@3":          "a time is written",
		"loss=1%,delay=x":     `"delay=x": a time`,
	} {
		if _, err := Parse([]string{spec}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error with %q", spec, err, want)
		}
	}
}

// FuzzParse checks that a Plan that was accepted makes a link.
func FuzzParse(f *testing.F) {
	f.Add("loss=2.5%,delay=5ms,jitter=1ms,rate=100M,seed=7")
	f.Add("cut@1MiB,cut@2s,send=RETRY_EXC_ERR@3,register=ENOMEM@50%,event=PORT_ERR@1s,qp-error@2s")
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := Parse([]string{spec})
		if err != nil {
			return
		}
		a, b, err := badlink.Pipe(badlink.Config{Seed: p.Seed, AB: p.Network})
		if err != nil {
			t.Fatalf("%q is accepted, but %v", spec, err)
		}
		_, _ = a.Close(), b.Close()
	})
}
