package hostile_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

var (
	seeded     = prototest.Seeded
	timeLimit  = prototest.TimeLimit
	leastInUse = prototest.LeastInUse
	waitFor    = prototest.Wait
	settled    = prototest.Settled
)
