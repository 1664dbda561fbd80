package extsock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/device"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// This file decides whether a connection runs on the RDMA device of Config.Backend, and sets it up
// there.

// These are the depths and lengths of a connection on a device, unless Config sets them. The memory
// is registered for as long as the connection lives, so they are smaller than in process.
const (
	deviceRecvDepth = 16
	deviceRecvSize  = 32 << 10
	deviceSendDepth = 8
	devicePostDepth = 32
	deviceMaxPosts  = 1 << 12 // the queues are memory of the kernel
)

// deviceFor returns the device of cfg.Backend, or an *rnic.UnavailableError that says why
// connections with cfg cannot run on the device. Both results are nil if the Backend has no device.
func deviceFor(cfg *Config) (rnic.Device, error) {
	b, ok := cfg.Backend.(rnic.Deviced)
	if !ok {
		return nil, nil
	}
	if what := notOnDevice(cfg); what != "" {
		return nil, lacking(what)
	}
	return b.Device()
}

func lacking(what string) error {
	return &rnic.UnavailableError{Reason: rnic.NotSupported, Err: errors.New(what)}
}

// notOnDevice returns the name of a setting of cfg that no device supports, or "".
func notOnDevice(cfg *Config) string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"Startup", cfg.Startup == StartupOff}, {"TLS", cfg.TLS != nil},
		{"RecvCQ", cfg.RecvCQ != nil}, {"SRQ", cfg.SRQ != nil}, {"Domain", cfg.Domain != nil},
		{"IdleTimeout", cfg.IdleTimeout > 0}, {"WriteTimeout", cfg.WriteTimeout > 0}, {"JudgeRequests", cfg.JudgeRequests},
		{"RSockets", cfg.RSockets}, {"Markers", cfg.Markers}, {"MaxFPDU", cfg.MaxFPDU != 0}, {"PeerToPeer", cfg.PeerToPeer},
		{"Revision", cfg.Revision == 1}, {"NoEnhanced", cfg.NoEnhanced},
		{"Tap", cfg.Tap != nil},
	} {
		if f.set {
			return "Config." + f.name
		}
	}
	return ""
}

// withoutDevice records why a new connection does not run on the device of Config.Backend, unless
// why is nil.
func (c *Conn) withoutDevice(why error) {
	if why == nil {
		return
	}
	c.noDevice = why
	reason := notReached
	var u *rnic.UnavailableError
	if errors.As(why, &u) && int(u.Reason) < notReached {
		reason = int(u.Reason)
	}
	countsInProcess[reason].Add(1)
	c.trace.Info("not on a device", "reason", inProcessReason(reason), "err", why)
}

// notReached is the reason of a connection with StartupPrefer whose peer was not reached on the
// device. The other reasons are the values of rnic.Unavailability.
const notReached = int(rnic.NotSupported) + 1

// countsInProcess counts the connections of the process that do not run on the device of their
// Backend, by reason, and countOnDevice those that run on a device.
var (
	countsInProcess [notReached + 1]atomic.Uint64
	countOnDevice   atomic.Uint64
)

func inProcessReason(i int) string {
	if i == notReached {
		return "not reached"
	}
	return rnic.Unavailability(i).String()
}

// A deviceEnd is one end of a connection that is being set up on a device.
type deviceEnd struct {
	dev    rnic.Device
	cfg    *Config
	engine *device.Engine
	own    startup.Capabilities
}

func newDeviceEnd(dev rnic.Device, cfg *Config, initiator bool) *deviceEnd {
	depth := max(min(positive(cfg.RecvDepth, deviceRecvDepth), maxRecvDepth), bytestream.MinCredits)
	size := max(min(positive(cfg.RecvSize, deviceRecvSize), maxRecvSize), bytestream.MinMessage)
	return &deviceEnd{
		dev: dev, cfg: cfg,
		engine: device.New(device.Config{
			Device: dev, Initiator: initiator, RecvDepth: depth, RecvSize: size, SendDepth: deviceSendDepth, SendSize: size,
			PostDepth:    min(positive(cfg.SendDepth, devicePostDepth), deviceMaxPosts),
			CloseTimeout: cfg.closeTimeout(),
		}),
		own: startup.Capabilities{ByteStream: !cfg.Messages, MaxMessage: uint32(size), Credits: uint16(depth), OnDevice: true},
	}
}

// privateData returns the private data of a request, or of an answer, of at most most bytes.
// announce asks for the capability record.
func (e *deviceEnd) privateData(most int, announce bool) []byte {
	if !announce || e.cfg.NoCapabilities {
		return e.cfg.PrivateData
	}
	data := slices.Clone(e.cfg.PrivateData)
	if fill := most - startup.CapabilitiesLen - len(data); fill > 0 && !e.dev.IsRNIC() {
		data = append(data, make([]byte, fill)...) // as the device would, and the CRC of the record covers it
	}
	return e.own.WithPrivateData(data)
}

// peer returns what the peer's private data says.
func (e *deviceEnd) peer(data []byte) (*startup.Peer, error) {
	if e.cfg.NoCapabilities {
		return &startup.Peer{PrivateData: data}, nil
	}
	caps, rest, ok, err := startup.ParseCapabilities(data)
	return &startup.Peer{IsRDDP: ok, Capabilities: caps, PrivateData: rest}, err
}

// rejection returns the error of a connection that the peer's program has rejected. It wraps the
// error that a connection in process would return, and the device's.
func (e *deviceEnd) rejection(r *rnic.RejectError) error {
	p, err := e.peer(r.PrivateData)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", &mpa.RejectError{PrivateData: p.PrivateData}, r.Err)
}

func (e *deviceEnd) config() rnic.QPConfig {
	c := rnic.QPConfig{Prepare: e.engine.Prepare, NoFlush: true, Reads: depth(e.cfg.ORD)}
	c.Sends, c.Receives, c.Segments = e.engine.Depths()
	return c
}

// join returns the Conn of a connected queue pair.
func (e *deviceEnd) join(qp rnic.QP, p *startup.Peer, initiator bool) *Conn {
	c := newConn(&deviceStream{qp}, initiator, e.cfg, nil)
	countOnDevice.Add(1)
	c.learn(p)
	e.engine.Begin(device.Link{
		QP: qp, Messages: e.cfg.Messages || !isByteStream(p), Credits: int(p.Capabilities.Credits), MaxMessage: int(min(p.Capabilities.MaxMessage, maxRecvSize)),
		Completions: func() (*rdmap.CompletionQueue, uint64) { return &c.SendCQ().done, c.QPNum() },
		Locate:      func(p []byte) (rnic.Segment, error) { return locate(e.dev, p) },
		Closed:      c.startup.Closed(), Background: &c.background, Trace: c.trace, Panicked: newPanicError,
	})
	c.ddp = &onDevice{Engine: e.engine, c: c, name: e.dev.Name()}
	told := guarded(func() error { c.traceSwitch(nil); return nil })
	c.startup.Joined()
	e.engine.Start(owner{c})
	if told != nil {
		e.engine.Kill(told)
	}
	c.background.Go(e.engine.Receive)
	return c
}

// onDevice returns a connection on the device of Config.Backend. It returns neither a connection
// nor an error if the connection must run in this process. Then a.noDevice says why, unless the
// Backend has no device.
func (a *attempt) onDevice(ctx context.Context) (*Conn, error) {
	dev, err := deviceFor(a.cfg)
	var c *Conn
	if dev != nil && err == nil {
		c, err = a.dialDevice(ctx, dev)
	}
	var u *rnic.UnavailableError
	var r *mpa.RejectError // the peer's answer, which would be the same in process
	if errors.As(err, &u) || err != nil && !errors.As(err, &r) && a.cfg.Startup == StartupPrefer && ctx.Err() == nil {
		a.noDevice = err
		return nil, nil
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: a.to.Network, Err: err}
	}
	return c, nil
}

// dialDevice tries the addresses of the peer's name in turn, as net.Dial does.
func (a *attempt) dialDevice(ctx context.Context, dev rnic.Device) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.handshakeTimeout(true))
	defer cancel()
	most, _ := dev.PrivateData()
	if len(a.cfg.PrivateData)+startup.CapabilitiesLen > most {
		return nil, lacking(fmt.Sprintf("private data of %d bytes", len(a.cfg.PrivateData)))
	}
	all, err := dev.Resolve(ctx, a.to.Network, a.to.Address)
	if err != nil {
		return nil, err
	}
	var first error
	for i, address := range all {
		c, err := a.dialAddress(ctx, dev, address, len(all)-i)
		var f *notReachedError
		if err == nil || !errors.As(err, &f) {
			return c, err
		}
		var u *rnic.UnavailableError
		if first == nil || errors.As(err, &u) && !errors.As(first, &u) { // in process all are tried again
			first = f.err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// maxPorts is how many of the ports that rdma_cm chooses a connection tries. If TCP uses so many
// ports that all of these fail, hardly any port is free.
const maxPorts = 64

// A notReachedError means that there was no connection with one address.
type notReachedError struct{ err error }

func (e *notReachedError) Error() string { return e.err.Error() }
func (e *notReachedError) Unwrap() error { return e.err }

// dialAddress tries one address. left is the number of untried addresses, this one included. They
// have equal shares of the time that ctx leaves.
func (a *attempt) dialAddress(ctx context.Context, dev rnic.Device, address string, left int) (*Conn, error) {
	deadline, _ := ctx.Deadline() // dialDevice sets one
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
	defer cancel()
	most, _ := dev.PrivateData()
	for tries := 1; ; tries++ {
		e := newDeviceEnd(dev, a.cfg, true)
		cfg := e.config()
		cfg.PrivateData = e.privateData(most, true)
		qp, err := dev.Dial(ctx, a.to.Network, address, cfg)
		if err == nil {
			p, err := e.peer(qp.PrivateData())
			if err == nil {
				return e.join(qp, p, true), nil
			}
			_ = qp.Close() // it returns nil
			e.engine.Abandon()
			return nil, err
		}
		e.engine.Abandon()
		if r := (*rnic.RejectError)(nil); errors.As(err, &r) {
			return nil, e.rejection(r)
		}
		// siw: rdma_cm has chosen a port that TCP uses. The error is the same if no port is left.
		if !errors.Is(err, syscall.EADDRNOTAVAIL) || tries == maxPorts || ctx.Err() != nil {
			return nil, &notReachedError{err}
		}
	}
}
