package hostile

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/internal/nopanic"
)

func TestMain(m *testing.M) {
	slowpeer.Main()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}
