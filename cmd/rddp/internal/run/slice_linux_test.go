//go:build amd64 || arm64

package run

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { programs["slices"] = slicesProgram }

// slicesProgram checks the time slices of its own threads and of its supervisor's.
func slicesProgram([]string) error {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return err
	}
	if own.Runtime == 0 {
		fmt.Fprintln(os.Stderr, "this kernel has no time slices of one's own")
		return nil
	}
	until(func() bool { // the supervisor sets them after the program has started
		var entries []os.DirEntry
		entries, err = os.ReadDir(fmt.Sprintf("/proc/%d/task", supervisorPID()))
		for _, e := range entries {
			tid, _ := strconv.Atoi(e.Name())
			if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Runtime != uint64(timeSlice) {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if own, err = unix.SchedGetAttr(0, 0); err == nil && own.Runtime == uint64(timeSlice) {
		err = fmt.Errorf("the program has the supervisor's time slice")
	}
	return err
}

// TestTimeSlices checks that all threads of a supervisor have short time slices, and that the
// program's threads do not.
func TestTimeSlices(t *testing.T) {
	if err := under(performance(t, "slices")...).Run(); err != nil {
		t.Error(err)
	}
}
