//go:build interop

package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

const (
	behaviorLimit = 10 * time.Minute // how long the tests of extsock may take on one device
	// dumpBefore is how long before that their process ends by itself, with the stacks of its
	// goroutines.
	dumpBefore = 5 * time.Minute
)

// TestBehaviorOnDevices runs extsock's own tests of behavior with connections on each device.
// extsock's behavior_test.go lists the excluded tests and the reasons.
func TestBehaviorOnDevices(t *testing.T) {
	s := builtStage(t, "extsock.test", "--- PASS: TestBehavior", "test", "-c", "../../extsock")
	args := fmt.Sprint(" -test.v -test.short -test.timeout=", behaviorLimit-dumpBefore, " -test.run=^TestBehavior$ -device=")
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
				said = logged(t, c.Stdout)
				status, err := c.Wait()
				code, said = status, fmt.Sprintln(said+text(c), err)
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

// logged logs the lines of r as they come, so that they are there if the test is ended from
// outside, and returns them at the end of r.
func logged(t *testing.T, r io.Reader) string {
	var all strings.Builder
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			return all.String()
		}
		t.Log(strings.TrimSuffix(line, "\n"))
	}
}
