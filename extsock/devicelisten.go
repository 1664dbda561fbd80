package extsock

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/extsock/internal/wait"
	"github.com/rddp/rddp/toe"
)

const (
	deviceAcceptors = 4   // connections that may come about at a time
	deviceBacklog   = 128 // connections that may wait for Accept
)

// A deviceListener is the listener below a Listener whose connections run on a device. As the
// operating system does, it accepts in the background.
type deviceListener struct {
	l        toe.QPListener
	dev      toe.Device
	cfg      *Config
	accepted chan *Conn
	closed   wait.Latch
	cancel   context.CancelFunc
	deadline wait.Deadline
	running  sync.WaitGroup
	outlives func(*Conn) // has Listener.Wait wait for a connection that the program does not get
	ending   sync.Once
	err      error // why nothing is accepted any more; set before closed is
}

// listenOnDevice listens on the device of cfg.Backend. If it returns no listener, err is nil or an
// *toe.UnavailableError, and connections must be in this process, or Listen fails with err.
func listenOnDevice(network, address string, cfg *Config) (*deviceListener, error) {
	if cfg == nil {
		return nil, nil
	}
	dev, err := deviceFor(cfg)
	if dev == nil || err != nil {
		return nil, err
	}
	if _, most := dev.PrivateData(); len(cfg.PrivateData)+startup.CapabilitiesLen > most {
		return nil, lacking("the length of Config.PrivateData")
	}
	l, err := dev.Listen(context.Background(), network, address)
	if err != nil {
		var u *toe.UnavailableError
		if !errors.As(err, &u) {
			err = &net.OpError{Op: "listen", Net: network, Err: err}
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &deviceListener{l: l, dev: dev, cfg: cfg, accepted: make(chan *Conn, deviceBacklog), cancel: cancel}
	d.closed.Init()
	for range deviceAcceptors {
		d.running.Go(func() { d.run(ctx) })
	}
	return d, nil
}

// run accepts until the listener ends.
func (d *deviceListener) run(ctx context.Context) {
	for {
		c, err := d.acceptOne(ctx)
		var u *toe.UnavailableError
		switch {
		case err == nil:
			select {
			case d.accepted <- c:
			case <-ctx.Done():
				d.drop(c)
			}
		case ctx.Err() != nil || !d.l.IsPeer(err) && !errors.As(err, &u) && !errors.Is(err, errPeer):
			d.end(err)
			return
		}
	}
}

// errPeer is with what one peer has done wrong.
var errPeer = errors.New("refused")

func (d *deviceListener) acceptOne(ctx context.Context) (*Conn, error) {
	e := newDeviceEnd(d.dev, d.cfg, false)
	_, most := d.dev.PrivateData()
	cfg := e.config()
	cfg.Answer = func(request []byte) []byte {
		p, err := e.peer(request) // Prepare judges it
		return e.privateData(most, err == nil && p.IsRDDP)
	}
	var p *startup.Peer
	cfg.Prepare = func(qp toe.QP) (err error) {
		if p, err = e.peer(qp.PrivateData()); err != nil {
			return errors.Join(errPeer, err)
		}
		return e.engine.Prepare(qp)
	}
	qp, err := d.l.Accept(ctx, cfg)
	if err != nil {
		e.engine.Abandon()
		return nil, err
	}
	return e.join(qp, p, false), nil
}

// end ends the listener because of err.
func (d *deviceListener) end(err error) {
	d.ending.Do(func() {
		d.err = err
		d.closed.Set()
	})
}

func (d *deviceListener) Accept() (net.Conn, error) {
	if d.deadline.HasPassed() {
		return nil, d.opError("accept", os.ErrDeadlineExceeded)
	}
	select {
	case c := <-d.accepted:
		return c, nil
	case <-d.deadline.Done():
		return nil, d.opError("accept", os.ErrDeadlineExceeded)
	case <-d.closed.Done():
		return nil, d.opError("accept", d.err)
	}
}

func (d *deviceListener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: d.Addr(), Err: err}
}

func (d *deviceListener) Addr() net.Addr { return d.l.Addr() }

func (d *deviceListener) SetDeadline(t time.Time) error {
	d.deadline.Set(t)
	return nil
}

// Close ends the listener. Connections that wait for Accept end without an end of their byte stream.
func (d *deviceListener) Close() error {
	d.end(net.ErrClosed)
	d.cancel()
	err := d.l.Close()
	d.running.Wait()
	for {
		select {
		case c := <-d.accepted:
			d.drop(c)
		default:
			return err
		}
	}
}

// drop ends a connection that the program does not get.
func (d *deviceListener) drop(c *Conn) {
	d.outlives(c)
	c.abortive.Store(true)
	c.Close()
}
