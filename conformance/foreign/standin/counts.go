package standin

import (
	"fmt"
	"os"
	"sync"

	"github.com/rddp/rddp/extsock"
)

// CountsVariable is the environment variable that names the file to which the counts of dialed
// connections are written.
const CountsVariable = "RDDP_FOREIGN_COUNTS"

// Counts are the connections that the process has dialed.
type Counts struct {
	Dialed   int // successfully
	DDP      int // of these, in DDP mode when Dial returned
	Fallback int // of these, plain TCP although DDP mode was preferred
	Panics   int // that have ended connections, up to the last Dial
}

// ReadCounts returns the counts that a process has written to the named file.
func ReadCounts(file string) (n Counts, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return n, err
	}
	_, err = fmt.Sscan(string(b), &n.Dialed, &n.DDP, &n.Fallback, &n.Panics)
	return n, err
}

var counts counter

// A counter writes its counts to a file whenever they change, because the process may end at any
// time.
type counter struct {
	mu   sync.Mutex
	n    Counts   // +checklocks:mu
	file *os.File // +checklocks:mu
}

func (c *counter) dialed(x *extsock.Conn) {
	name := os.Getenv(CountsVariable)
	if name == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n.Dialed++
	state := x.ConnectionState()
	if state.DDPMode {
		c.n.DDP++
	}
	if state.Fallback != nil {
		c.n.Fallback++
	}
	c.n.Panics = int(extsock.TotalStats().Panics)
	if c.file == nil {
		f, err := os.Create(name)
		if err != nil {
			panic(fmt.Sprintf("standin: %v", err))
		}
		c.file = f
	}
	line := fmt.Appendf(nil, "%10d %10d %10d %10d\n", c.n.Dialed, c.n.DDP, c.n.Fallback, c.n.Panics)
	if _, err := c.file.WriteAt(line, 0); err != nil {
		panic(fmt.Sprintf("standin: %v", err))
	}
}
