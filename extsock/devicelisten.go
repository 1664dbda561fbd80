package extsock

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/toe/rnic"
)

const (
	deviceAcceptors = 4   // connections that are set up at a time
	deviceBacklog   = 128 // connections that may wait for Accept
)

// A deviceListener is the listener below a Listener whose connections run on a device. It accepts
// in the background, as the operating system does. If one of its goroutines gets an error that ends
// the listener, all of them end. Accept then returns the connections that were established before,
// and then the error.
type deviceListener struct {
	l        rnic.QPListener
	dev      rnic.Device
	cfg      *Config
	accepted chan *Conn         // in the order in which they were established; closed when no goroutine accepts any more
	cancel   context.CancelFunc // ends the goroutines that accept
	running  atomic.Int32       // goroutines that accept
	closed   wait.Latch         // Close has been called
	deadline wait.Deadline
	outlives func(*Conn) // makes Listener.Wait wait for a connection that the program does not get

	mu    locks.Mutex[locks.Backlog]
	state listening // +checklocks:mu
	// why the state is listenFailing
	err error // +checklocks:mu
}

// A listening is how far a deviceListener has come. deviceListener.become changes it.
//
//	accepting ──an error──▶ failing ──Close──▶ closed
//	    └─────────────────Close──────────────────▲
type listening uint8

const (
	listenAccepting listening = iota
	listenFailing             // err says why; connections may still wait for Accept
	listenClosed              // no connection waits any more
)

var listenNames = [...]string{"accepting", "failing", "closed"}

func (s listening) String() string { return listenNames[s] }

var listenNext = states.Table[listening]{
	listenAccepting: states.To(listenFailing, listenClosed),
	listenFailing:   states.To(listenClosed),
	listenClosed:    0,
}

// listenOnDevice listens on the device of cfg.Backend. If it returns no listener, err is nil or an
// *rnic.UnavailableError, and connections must be in this process, or Listen fails with err.
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
		var u *rnic.UnavailableError
		if !errors.As(err, &u) {
			err = &net.OpError{Op: "listen", Net: network, Err: err}
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &deviceListener{l: l, dev: dev, cfg: cfg, accepted: make(chan *Conn, deviceBacklog), cancel: cancel}
	d.running.Store(deviceAcceptors)
	for range deviceAcceptors {
		go d.run(ctx)
	}
	return d, nil
}

// run accepts connections until the listener ends. The last goroutine to return closes the listener
// below, so that further peers are refused.
func (d *deviceListener) run(ctx context.Context) {
	defer func() {
		if d.running.Add(-1) == 0 {
			_ = d.l.Close() // Close closes it again, and returns the error
			close(d.accepted)
		}
	}()
	for {
		var c *Conn
		err := guarded(func() (err error) { c, err = d.acceptOne(ctx); return err })
		panicked := (*panicError)(nil)
		var u *rnic.UnavailableError
		switch {
		case err == nil:
			select {
			case d.accepted <- c:
			case <-d.closed.Done():
				d.drop(c)
			}
		case ctx.Err() != nil:
			return
		case errors.As(err, &panicked): // a Tap or a trace handler; only this connection is lost
		case !d.l.IsPeer(err) && !errors.As(err, &u) && !errors.Is(err, errPeer):
			d.become(listenFailing, err)
			return
		}
	}
}

// errPeer marks an error that one peer has caused.
var errPeer = errors.New("refused")

func (d *deviceListener) acceptOne(ctx context.Context) (c *Conn, err error) {
	e := newDeviceEnd(d.dev, d.cfg, false)
	_, most := d.dev.PrivateData()
	cfg := e.config()
	cfg.Answer = func(request []byte) []byte {
		p, err := e.peer(request) // Prepare judges it
		return e.privateData(most, err == nil && p.IsRDDP)
	}
	var p *startup.Peer
	cfg.Prepare = func(qp rnic.QP) (err error) {
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
	defer func() {
		if c == nil { // the program's Tap or trace handler has panicked
			_ = qp.Close() // it returns nil
			e.engine.Abandon()
		}
	}()
	return e.join(qp, p, false), nil
}

// become changes the state of the listener. Nothing else does. An error after the first, or after
// Close, changes nothing, and neither does a second Close.
func (d *deviceListener) become(next listening, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if next == d.state || d.state == listenClosed {
		return
	}
	if d.state == listenAccepting {
		d.cancel()
	}
	if listenNext.Become(&d.state, next); next == listenClosed {
		d.closed.Set()
	} else {
		d.err = err
	}
}

func (d *deviceListener) Accept() (net.Conn, error) {
	switch {
	case d.closed.IsSet(): // first, so that a program that polls with deadlines sees it
		return nil, d.opError(net.ErrClosed)
	case d.deadline.HasPassed():
		return nil, d.opError(os.ErrDeadlineExceeded)
	}
	select {
	case c, ok := <-d.accepted:
		if !ok {
			return nil, d.opError(d.cause())
		}
		return c, nil
	case <-d.deadline.Done():
		return nil, d.opError(os.ErrDeadlineExceeded)
	case <-d.closed.Done():
		return nil, d.opError(net.ErrClosed)
	}
}

// cause returns why the listener accepts no more.
func (d *deviceListener) cause() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == listenClosed {
		return net.ErrClosed
	}
	return d.err
}

func (d *deviceListener) opError(err error) error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: err}
}

func (d *deviceListener) Addr() net.Addr { return d.l.Addr() }

func (d *deviceListener) SetDeadline(t time.Time) error {
	d.deadline.Set(t)
	return nil
}

// Close ends the listener. Connections that wait for Accept are aborted: their peers see no end of
// the byte stream.
func (d *deviceListener) Close() error {
	d.become(listenClosed, nil)
	err := d.l.Close()
	for c := range d.accepted { // until no goroutine accepts any more
		d.drop(c)
	}
	return err
}

// drop ends a connection that the program does not get.
func (d *deviceListener) drop(c *Conn) {
	d.outlives(c)
	c.abortive.Store(true)
	c.Close()
}
