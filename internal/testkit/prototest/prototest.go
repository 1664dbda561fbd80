// Package prototest has helpers for the tests of more than one package. It imports no package of
// this module, so that the tests inside mpa, ddp and rdmap can use it, and so that the segments it
// builds do not depend on the code under test.
//
// A package that uses one of these functions often gives it a short name in one of its helper
// files:
//
//	var unhex = prototest.Unhex
package prototest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Unhex decodes hexadecimal digits, ignoring white space. It panics at any other character.
func Unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(fmt.Sprintf("Unhex(%q): %v", s, err))
	}
	return b
}

// Seeded returns a source of random numbers, and logs its seed. To repeat a run, set the
// environment variable RDDP_SEED.
func Seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("RDDP_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatalf("RDDP_SEED: %v", err)
		}
	}
	t.Logf("RDDP_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Pattern returns n bytes that differ from place to place. Two patterns whose seeds differ modulo
// 256 differ in every byte.
func Pattern[S int | byte](n int, seed S) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16) ^ byte(seed)
	}
	return b
}
