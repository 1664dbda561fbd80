package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// TestAllBlocksComeBack: each block comes back once, in order and with its bytes. Source and sink
// check this themselves. Round-robin shares the blocks evenly, however slow a copy is.
func TestAllBlocksComeBack(t *testing.T) {
	const count = 40
	for _, way := range ways {
		for _, demand := range []bool{false, true} {
			for _, size := range []int{headerLen, 1 << 10, 1 << 20} {
				trial := trial{Way: way, Demand: demand, Copies: 2, Window: 3, Size: size, Cost: 1, Uneven: 4, Count: count, Seed: 1}
				o, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if o.blocks() != count || !demand && o.Blocks[0] != count/2 {
					t.Errorf("%s, demand %v, size %d: %v blocks", way, demand, size, o.Blocks)
				}
			}
		}
	}
}

// TestCheck: the sink's check finds each fault.
func TestCheck(t *testing.T) {
	const n = 100
	block, sum := newBlock(n, 1)
	setNumber(block, 7)
	if err := check(block, 7, n, sum); !errors.Is(err, errOrder) {
		t.Errorf("not filtered: %v", err)
	}
	filter(block)
	if err := check(block, 7, n, sum); err != nil {
		t.Error(err)
	}
	if err := check(block, 8, n, sum); !errors.Is(err, errOrder) {
		t.Errorf("another number: %v", err)
	}
	if err := check(block[:n-1], 7, n, sum); !errors.Is(err, errLength) {
		t.Errorf("too short: %v", err)
	}
	block[n-1] ^= 1
	if err := check(block, 7, n, sum); !errors.Is(err, errBytes) {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestReadBlock: the length in a header is not trusted.
func TestReadBlock(t *testing.T) {
	for _, header := range [][]byte{
		{15: 0},
		{15: headerLen - 1},
		{8: 0xFF, 15: 0},
	} {
		if _, err := readBlock(bytes.NewReader(header), make([]byte, maxBlock)); !errors.Is(err, errLength) {
			t.Errorf("%x: %v", header, err)
		}
	}
}
