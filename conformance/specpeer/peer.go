package specpeer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/spec"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/rdmap"
)

const (
	receives    = 2 * spec.MinReceives // buffers posted
	receiveSize = spec.MinReceive      // bytes of each
	regionSize  = spec.MinRegion       // bytes of each region
	hello       = "hello"              // what the Initiator sends first
	retry       = 50 * time.Millisecond
	maxFailures = 3 // failed dials, one after another
)

// DefaultStartup is the default timeout of MPA startup.
const DefaultStartup = 2 * time.Second

// DefaultPatience is the default of Peer.Patience.
const DefaultPatience = 10 * time.Second

// A Peer keeps the contract of conformance/SPEC.md. The zero value works.
type Peer struct {
	// Socket configures the connections. The package overrides the settings that the contract
	// concerns: message mode, no capability record before the Private Data, and the receive
	// buffers. The peer announces HandshakeTimeout to the other end; zero means DefaultStartup.
	Socket extsock.Config
	// NoExtensions turns off atomics and Immediate Data.
	NoExtensions bool
	// Patience is how long Dial tries to make its first connection. Zero means DefaultPatience.
	Patience time.Duration
	// Failed, if not nil, is called with the reason for the end of a connection. Most connections
	// are meant to fail.
	Failed func(error)
}

// Config returns the configuration that a Listener for Serve needs.
func (p *Peer) Config() *extsock.Config {
	c := p.Socket
	c.Messages, c.NoCapabilities, c.Extensions = true, true, !p.NoExtensions
	c.RecvDepth, c.SRQ, c.RecvCQ, c.SendCQ, c.PrivateData = receives, nil, nil, nil, nil
	if c.HandshakeTimeout == 0 {
		c.HandshakeTimeout = DefaultStartup
	}
	c.BadSTagDelay = -1 // the tests use wrong STags on purpose
	return &c
}

// Serve accepts connections from l until ctx is done, closes l, and returns when all connections
// have ended. l must be a Listener of extsock with the Config of p. It is not an error if ctx is
// done.
func (p *Peer) Serve(ctx context.Context, l net.Listener) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		connections.Go(func() { p.serve(ctx, conn.(*extsock.Conn), false) })
	}
}

// Dial dials address again and again, one connection at a time, until ctx is done or three dials in
// a row fail. (A single failure may be an immediate reset.) It returns an error only if the first
// connection cannot be made within Patience, or at once if TLS is the reason.
func (p *Peer) Dial(ctx context.Context, address string) error {
	patience := p.Patience
	if patience == 0 {
		patience = DefaultPatience
	}
	d := extsock.Dialer{Config: p.Config()}
	end, served := time.Now().Add(patience), false
	for failures := 0; ctx.Err() == nil && (!served || failures < maxFailures); {
		conn, err := d.DialContext(ctx, "tcp", address)
		switch {
		case err == nil:
			failures, served = 0, true
			p.serve(ctx, conn.(*extsock.Conn), true)
		case !served && ctx.Err() == nil && (time.Now().After(end) || tlshandshake.Words(err) != ""): // TLS does not come to fit by waiting
			return tlshandshake.Brief(err)
		default:
			failures++
			pause(ctx, retry)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// serve runs one connection to its end.
func (p *Peer) serve(ctx context.Context, conn *extsock.Conn, initiator bool) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c := connection{conn: conn, initiator: initiator, startup: p.Config().HandshakeTimeout}
	if err := c.run(ctx, !p.NoExtensions); err != nil && p.Failed != nil {
		p.Failed(err)
	}
}

type connection struct {
	conn      *extsock.Conn
	initiator bool
	startup   time.Duration // its timeout
	buffers   [receives][receiveSize]byte
}

func (c *connection) run(ctx context.Context, extensions bool) error {
	record, err := c.lend(extensions)
	if err != nil {
		return fmt.Errorf("lending memory: %w", err)
	}
	for id := range c.buffers {
		if err := c.post(uint64(id)); err != nil {
			return fmt.Errorf("posting a receive buffer: %w", err)
		}
	}
	if err := c.conn.EnableDDP(ctx, record.AppendTo(nil)); err != nil {
		return fmt.Errorf("MPA startup: %w", err)
	}
	if c.initiator {
		if err := c.send(ctx, []byte(hello)); err != nil {
			return fmt.Errorf("sending first: %w", err)
		}
	}
	for {
		if err := c.echo(ctx); err != nil {
			return err
		}
	}
}

// lend registers the regions and returns the record that describes them.
func (c *connection) lend(extensions bool) (r spec.Record, err error) {
	r.Flags = spec.FlagMemory | spec.FlagInvalidate | spec.FlagReadOnly | spec.FlagWriteOnly | spec.FlagStartup
	access := ddp.RemoteRead | ddp.RemoteWrite
	if extensions {
		r.Flags |= spec.FlagAtomic | spec.FlagImmediate
		access |= ddp.RemoteAtomic
	}
	r.ReceiveSize, r.Startup = receiveSize, c.startup
	for _, m := range []struct {
		access ddp.Access
		to     *spec.Region
	}{{access, &r.Region}, {ddp.RemoteRead, &r.ReadOnly}, {ddp.RemoteWrite, &r.WriteOnly}} {
		region, err := c.conn.Register(make([]byte, regionSize), m.access)
		if err != nil {
			return r, err
		}
		h := region.Handle()
		*m.to = spec.Region{STag: uint32(h.STag), TO: h.TO, Len: h.Len}
	}
	return r, nil
}

func (c *connection) post(id uint64) error {
	return c.conn.PostRecv(rdmap.RecvRequest{ID: id, Buf: c.buffers[id][:]})
}

// echo waits for a message and sends it back.
func (c *connection) echo(ctx context.Context) error {
	done, err := c.conn.RecvCQ().Wait(ctx)
	if err != nil {
		return err
	}
	if done.Status != rdmap.StatusOK {
		return fmt.Errorf("waiting for a message: %w", done.Err)
	}
	message := c.buffers[done.ID][:done.Len]
	if done.HasImmediate {
		message = binary.BigEndian.AppendUint64(nil, done.Immediate)
	}
	if err := c.send(ctx, message); err != nil {
		return fmt.Errorf("sending a message back: %w", err)
	}
	return c.post(done.ID)
}

// send sends one message, and returns when TCP has accepted it.
func (c *connection) send(ctx context.Context, message []byte) error {
	if err := c.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: message}); err != nil {
		return err
	}
	done, err := c.conn.SendCQ().Wait(ctx)
	if err == nil && done.Status != rdmap.StatusOK {
		err = done.Err
	}
	return err
}
