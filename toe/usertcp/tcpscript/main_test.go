package tcpscript

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }
