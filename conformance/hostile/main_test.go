package hostile

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// roleEnv, in the environment of this test binary, makes it a peer process instead: the name of a
// role in roles.
const roleEnv = "RDDP_HOSTILE_ROLE"

// roles are what a peer process can be. They end when their standard input does, if not before.
var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(roleEnv); name != "" {
		run := roles[name]
		if run == nil {
			run = func() error { return fmt.Errorf("no role %q", name) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	slowpeer.Main()
	testmode.Hurry()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}
