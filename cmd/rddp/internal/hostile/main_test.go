package hostile

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

func TestMain(m *testing.M) {
	slowpeer.Main()
	testmode.Hurry()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}
