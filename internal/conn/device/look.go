package device

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
)

// Look calls show with what a Read would return, and with more as that comes, until show has seen
// enough. It is Look of package driver, and show is a driver.Show.
func (e *Engine) Look(p []byte, limit *wait.Deadline, show func(data []byte, end error) (used int, enough bool)) error {
	if err := take(e.reading, limit); err != nil {
		return err
	}
	defer func() { <-e.reading }()
	for seen := -1; ; {
		e.mu.Lock()
		n, end := e.m.show(p)
		e.unlockRead()
		if e.link.Closed.IsSet() {
			return net.ErrClosed
		}
		if n > seen || end != nil {
			used, enough := show(p[:n], end)
			if used > 0 {
				e.mu.Lock()
				k, _, _ := e.m.read(p[:used], nil) // fewer, if Close has thrown them away
				e.unlockRead()
				e.count.Add(counters.Copied, uint64(k))
				e.flush()
			}
			if enough {
				return nil
			}
			if seen = n; used > 0 {
				seen = max(n-used-1, 0) // show has not seen what is left at the beginning
				continue
			}
		}
		readable := e.readable
		if end != nil {
			readable = nil
		}
		select {
		case <-readable:
		case <-e.link.Closed.Done():
		case <-limit.Done():
			return os.ErrDeadlineExceeded
		}
	}
}

// show copies to p what read would take. end is the error of a read that finds nothing else.
func (m *machine) show(p []byte) (n int, end error) {
	n, all, ended := m.unread.Show(p)
	switch {
	case !all:
		return n, nil
	case m.unread.HasEnded(), ended && m.life != over:
		return n, io.EOF
	case m.life == over && n == 0:
		return 0, m.reason
	}
	return n, nil
}
