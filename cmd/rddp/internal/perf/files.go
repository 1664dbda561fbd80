package perf

import "fmt"

// A FileLimitError means that a process may not open as many files as it needs connections. Go has
// already raised the soft limit of the process as far as the hard limit allows.
type FileLimitError struct {
	Where string // "this process", or the server's address
	Conns int    // connections at once in that process
	Limit uint64 // files that it may open
}

func (e *FileLimitError) Error() string {
	return fmt.Sprintf("%s may open %d files, too few for %d connections at once: raise its limit (ulimit -Hn)", e.Where, e.Limit, e.Conns)
}

// otherFiles is the number of files that a process needs in addition to its connections: for
// standard streams, listeners, control connections, and Go's runtime.
const otherFiles = 64

// checkFiles returns an error if limit, the number of files of a process, is too low for conns
// connections. A limit of 0 is unknown.
func checkFiles(where string, limit uint64, conns int) error {
	if limit > 0 && uint64(conns)+otherFiles > limit {
		return &FileLimitError{where, conns, limit}
	}
	return nil
}

// checkFiles checks the limits of this process and of the servers, for kinds kinds of connections
// at once.
func (c *client) checkFiles(kinds int) error {
	if err := checkFiles("this process", fileLimit(), c.conns*kinds); err != nil {
		return err
	}
	for _, s := range c.servers {
		share := (c.conns + len(c.servers) - 1) / len(c.servers)
		if err := checkFiles("the server at "+s.address, s.files, share*kinds); err != nil {
			return err
		}
	}
	return nil
}

// lanes returns the maximum number of kinds of connections that are open at once.
func (o *Options) lanes() (most int) {
	for _, size := range o.groups() {
		jobs := o.jobs(size)
		all := make(map[lane]bool)
		for _, j := range append(o.references(size, jobs), jobs...) {
			all[laneOf(j)] = true
		}
		most = max(most, len(all))
	}
	return most
}
