//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// behaviorLimit is how long the tests of extsock may take on one device.
const behaviorLimit = 10 * time.Minute

// TestBehaviorOnDevices runs extsock's own tests of behavior with connections on each device.
// extsock's behavior_test.go lists the excluded tests and the reasons.
func TestBehaviorOnDevices(t *testing.T) {
	s := builtStage(t, "extsock.test", "--- PASS: TestBehavior", "test", "-c", "../../extsock")
	const args = " -test.v -test.short -test.run=^TestBehavior$ -device="
	for _, at := range testmode.Share(t, []struct {
		place  place
		device string
	}{{underRun, "@127.0.0.1"}, {joinedRun, "@127.0.0.1"}, {overSiw, "siw0@" + GuestIP}, {overRxe, "rxe0@" + rxeAddress}}) {
		t.Run(string(at.place), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), behaviorLimit)
			defer cancel()
			var said string
			var code int
			if at.place.inGuest() {
				c := startGuest(t, ctx, s.g, "/bin/extsock.test"+args+at.device)
				status, err := c.Wait()
				code, said = status, fmt.Sprintln(text(c), err)
			} else {
				c := superviseAs(t, map[place]string{underRun: "--iwarp"}[at.place], s.program+args+at.device)
				code, said = c.wait(ctx), c.said()
			}
			if code != 0 || !strings.Contains(said, s.success) || strings.Contains(said, "no tests to run") {
				t.Errorf("exit status %d\n%s", code, said)
			}
			t.Logf("%d tests passed", strings.Count(said, "--- PASS"))
		})
	}
}
