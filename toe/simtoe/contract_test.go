package simtoe_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	for _, test := range []struct {
		desc string
		cfg  simtoe.Config
	}{
		{"orderly", simtoe.Config{}},
		{"runs of one size", simtoe.Config{MaxSegment: 1448}},
		{"split", simtoe.Config{Seed: 1, Split: true}},
		{"small window", simtoe.Config{Seed: 2, Split: true, Window: 3000}},
		{"early", simtoe.Config{Seed: 3, Split: true, Early: 0.5}},
		{"delay", simtoe.Config{Seed: 4, MaxSegment: 64 << 10, Split: true, Delay: 50 * time.Microsecond}},
		{"timing", simtoe.Config{Timing: func() simtoe.Timing { return new(recorder) }}},
		{"all", simtoe.Config{Seed: 5, MaxSegment: 32 << 10, Split: true, Early: 0.3, Delay: 50 * time.Microsecond}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			toetest.TestStreamInBubble(t, func(*testing.T) (a, b toe.Stream) {
				return simtoe.Pair(test.cfg, test.cfg)
			})
		})
	}
}

func TestContractOfNetwork(t *testing.T) {
	toetest.TestStreamInBubble(t, func(t *testing.T) (a, b toe.Stream) {
		n := simtoe.New(simtoe.Config{Seed: 6, Split: true})
		l, err := n.Listen(context.Background(), "tcp", "host:7174")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if a, err = n.Dial(context.Background(), "tcp", "host:7174"); err != nil {
			t.Fatal(err)
		}
		if b, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		return a, b
	})
}

// TestTransferSeeds moves bytes through many different networks. A network that splits at every
// byte gets few bytes, because each byte is a read.
func TestTransferSeeds(t *testing.T) {
	for _, test := range []struct {
		cfg  simtoe.Config
		size int
	}{
		{simtoe.Config{MaxSegment: 1}, 50_000},
		{simtoe.Config{MaxSegment: 1, Early: 0.5}, 20_000},
		{simtoe.Config{MaxSegment: 1, Window: 1}, 5_000},
		{simtoe.Config{MaxSegment: 7, Split: true, Early: 1, Window: 64}, 100_000},
		{simtoe.Config{Split: true, Early: 0.5}, 1 << 20},
		{simtoe.Config{Split: true, Early: 0.5, Delay: 20 * time.Microsecond}, 1 << 20},
	} {
		for seed := range uint64(3) {
			cfg := test.cfg
			cfg.Seed = seed
			t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := simtoe.Pair(cfg, cfg)
					defer a.Close()
					defer b.Close()
					if err := toetest.Transfer(a, b, test.size, seed); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
