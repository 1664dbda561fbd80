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

// roleEnv is the environment variable that makes this test binary a peer process. Its value is the
// name of a role in roles.
const roleEnv = "RDDP_HOSTILE_ROLE"

// roles are the roles of peer processes. They end at the latest when their standard input does.
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
