package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/toe/badlink"
)

func TestMain(m *testing.M) { os.Exit(nopanic.Code(m.Run())) }

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		desc string
		bad  badlink.Faults
	}{
		{"a good network", badlink.Faults{}},
		{"loss and reordering", badlink.Faults{Loss: 0.02, Reorder: 0.1, Delay: time.Millisecond}},
		{"corruption and duplication", badlink.Faults{Corrupt: 0.01, Duplicate: 0.05}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out strings.Builder
			if err := run(ctx, &out, badlink.Config{Seed: 1, AB: tt.bad, BA: tt.bad}, 256<<10); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), "262144 bytes arrived unchanged") {
				t.Errorf("run prints %q", out.String())
			}
		})
	}
}
