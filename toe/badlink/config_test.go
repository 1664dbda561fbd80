package badlink_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/rddp/rddp/toe/badlink"
)

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		field  string
		faults badlink.Faults
	}{
		{"Loss", badlink.Faults{Loss: -0.1}},
		{"Loss", badlink.Faults{Loss: math.NaN()}},
		{"Burst.Enter", badlink.Faults{Burst: badlink.Burst{Enter: 1.1}}},
		{"Burst.Leave", badlink.Faults{Burst: badlink.Burst{Leave: 2}}},
		{"Burst.Loss", badlink.Faults{Burst: badlink.Burst{Loss: math.Inf(1)}}},
		{"Corrupt", badlink.Faults{Corrupt: 5}},
		{"CorruptRepaired", badlink.Faults{CorruptRepaired: -1}},
		{"Duplicate", badlink.Faults{Duplicate: 1.01}},
		{"Split", badlink.Faults{Split: -1}},
		{"Merge", badlink.Faults{Merge: 10}},
		{"Reorder", badlink.Faults{Reorder: 100}},
		{"ReorderBy", badlink.Faults{ReorderBy: -1}},
		{"Hold", badlink.Faults{Hold: -1}},
		{"Hold", badlink.Faults{Hold: math.MaxInt64}},
		{"Rate", badlink.Faults{Rate: -1}},
		{"Queue", badlink.Faults{Queue: -1}},
		{"Delay", badlink.Faults{Delay: -time.Second}},
		{"Delay", badlink.Faults{Delay: math.MaxInt64}},
		{"Jitter", badlink.Faults{Jitter: -time.Second}},
		{"Jitter", badlink.Faults{Jitter: math.MaxInt64}},
		{"PathMTU", badlink.Faults{PathMTU: 67}},
		{"PathMTU", badlink.Faults{PathMTU: -1}},
		{"PacketTooBig", badlink.Faults{PacketTooBig: true}},
	} {
		a, _ := pipe(t, badlink.Config{})
		for _, call := range []struct {
			name, field string
			err         error
		}{
			{"Pipe", "AB." + test.field, pipeError(badlink.Config{AB: test.faults})},
			{"Pipe", "BA." + test.field, pipeError(badlink.Config{BA: test.faults})},
			{"SetFaults", test.field, a.SetFaults(test.faults)},
		} {
			var c *badlink.ConfigError
			if !errors.As(call.err, &c) || c.Field != call.field {
				t.Errorf("%s with %+v returned %v, want an error of %s", call.name, test.faults, call.err, call.field)
			}
		}
	}
	for _, mtu := range []int{-1, 67, 65536} {
		var c *badlink.ConfigError
		if err := pipeError(badlink.Config{MTU: mtu}); !errors.As(err, &c) || c.Field != "MTU" {
			t.Errorf("Pipe with MTU %d returned %v", mtu, err)
		}
	}
}

func pipeError(cfg badlink.Config) error {
	_, _, err := badlink.Pipe(cfg)
	return err
}
