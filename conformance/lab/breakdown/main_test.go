package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// programEnv makes the test's binary the program.
const programEnv = "RDDP_BREAKDOWN"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" && len(os.Args) > 1 && os.Args[1] == "-pinned" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testmode.Hurry()
	os.Exit(nopanic.Code(m.Run()))
}
