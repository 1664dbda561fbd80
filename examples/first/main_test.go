package main

import (
	"os"
	"testing"

	"github.com/rddp/rddp/internal/testkit/nopanic"
)

func TestMain(m *testing.M) { os.Exit(nopanic.Code(m.Run())) }

func Example() {
	main()
	// Output: one-sided
}
