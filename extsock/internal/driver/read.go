package driver

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/extsock/internal/wait"
)

// Read is Conn.Read in DDP mode. limit is its deadline.
func (d *Driver) Read(b []byte, limit *wait.Deadline) (int, error) {
	in := d.in
	if len(b) == 0 && in.framed {
		return 0, nil // as TCP's Read, whatever the deadline
	}
	expired := limit.Done()
	if wait.IsClosed(expired) {
		return 0, os.ErrDeadlineExceeded
	}
	for {
		// First look whether the way in has ended, then look into the inbox: nothing arrives after
		// the end.
		silent := wait.IsClosed(d.silent)
		found, t := in.begin(b)
		switch found {
		case behind:
			select {
			case <-in.turn:
				continue
			case <-expired:
				return 0, os.ErrDeadlineExceeded
			}
		case waits:
			result, err := readResult{}, error(nil)
			if silent {
				in.leave()
			} else {
				result, err = d.await(limit, expired)
			}
			wait.Wake(in.turn)
			switch {
			case result.ok || err != nil:
				return result.n, err
			case !silent: // the inbox may have something
				continue
			}
		case took:
			d.count.readCopied(t.n)
			d.roomFor(t.freed, t.back)
			fallthrough
		case ended:
			wait.Wake(in.turn)
		}
		switch {
		case wait.IsClosed(d.cfg.Closed):
			return t.n, net.ErrClosed
		case found == took:
			return t.n, nil
		case found == ended:
			return 0, io.EOF
		}
		return 0, d.readEnd()
	}
}

// await waits until the inbox has something, or the Read's memory. It also returns when the
// connection ends.
func (d *Driver) await(limit *wait.Deadline, expired <-chan struct{}) (result readResult, err error) {
	in := d.in
	d.role.beginWait(!limit.IsSet())
	for err == nil && !result.over && !in.has() && !wait.IsClosed(d.silent) && !wait.IsClosed(d.cfg.Closed) {
		var drove bool
		if drove, result = d.drive(limit); drove {
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
	d.role.endWait()
	if !result.over {
		result = in.leave()
	}
	if result.ok {
		d.count.Direct.Add(uint64(result.n))
		err = nil
	}
	return result, err
}

// roomFor notes that Read has freed so many buffers, and that the peer of a byte stream gets its
// credits back for some of them.
func (d *Driver) roomFor(freed, back int) {
	switch {
	case freed == 0:
	case d.bytes != nil:
		d.freedStream(back)
	default:
		d.wakeReceiver()
	}
}

// readEnd says why no more bytes will arrive. A byte stream that ends properly has said so before
// TCP ends.
func (d *Driver) readEnd() error {
	err := d.endError()
	if err == io.EOF && d.bytes != nil { //nolint:errorlint // as endError returns it
		return io.ErrUnexpectedEOF
	}
	return err
}

// CloseRead throws away all data that arrives from now on.
func (d *Driver) CloseRead() {
	d.in.closeRead()
	d.Interrupt()
	d.wakeReceiver() // receive can drop the data that waits for room
}
