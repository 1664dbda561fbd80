package driver

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/extsock/internal/wait"

	"github.com/rddp/rddp/internal/locks"
)

// Read is Conn.Read in DDP mode. limit is its deadline.
func (d *Driver) Read(b []byte, limit *wait.Deadline) (int, error) {
	in := d.in
	if len(b) == 0 && in.framed {
		return 0, nil // as TCP, whatever the deadline
	}
	expired := limit.Done()
	if wait.IsClosed(expired) {
		return 0, os.ErrDeadlineExceeded
	}
	select {
	case in.lock <- struct{}{}:
		locks.Acquired[locks.Reader]()
		defer func() { locks.Released[locks.Reader](); <-in.lock }()
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	}
	for {
		// Look whether it is over first and into the inbox second: nothing comes after the end.
		silent, ended := wait.IsClosed(d.silent), in.over()
		var n int
		var ok bool
		if in.has() {
			n, ok = d.takeUnread(b)
		}
		switch {
		case wait.IsClosed(d.cfg.Closed):
			return n, net.ErrClosed
		case ok:
			return n, nil
		case ended:
			return 0, io.EOF
		case silent:
			return 0, d.readEnd()
		}
		if n, ok, err := d.await(b, limit, expired); ok || err != nil {
			return n, err
		}
	}
}

// takeUnread gives a reader what there is in the inbox.
func (d *Driver) takeUnread(b []byte) (n int, ok bool) {
	n, freed, back, ok := d.in.take(b)
	d.count.readCopied(n)
	d.roomFor(freed, back)
	return n, ok
}

// await waits until there is something in the inbox, or in b: then ok is set. It returns at the end, too.
func (d *Driver) await(b []byte, limit *wait.Deadline, expired <-chan struct{}) (n int, ok bool, err error) {
	in := d.in
	in.await(b)
	d.role.wait(!limit.IsSet())
	for err == nil && !in.has() && !wait.IsClosed(d.silent) && !wait.IsClosed(d.cfg.Closed) {
		if d.drive(limit) {
			continue
		}
		select {
		case <-in.ready:
		case <-d.role.offer:
		case <-d.silent:
		case <-d.cfg.Closed:
		case <-expired:
			err = os.ErrDeadlineExceeded
		}
	}
	d.role.served()
	if n, ok = in.leave(); ok {
		d.count.Direct.Add(uint64(n))
		err = nil
	}
	return n, ok, err
}

// roomFor notes that Read has freed so many buffers, for some of which the peer of a byte stream gets its credits back.
func (d *Driver) roomFor(freed, back int) {
	switch {
	case freed == 0:
	case d.bytes != nil:
		d.freedStream(back)
	default:
		d.wake()
	}
}

// readEnd says why nothing more comes. A byte stream that is in order has said so before TCP does.
func (d *Driver) readEnd() error {
	err := d.endError()
	if err == io.EOF && d.bytes != nil { //nolint:errorlint // as ended returns it
		return io.ErrUnexpectedEOF
	}
	return err
}

// CloseRead throws away what comes from now on.
func (d *Driver) CloseRead() {
	d.in.closeRead()
	d.Interrupt()
	d.wake() // data that waits for room can be discarded
}
