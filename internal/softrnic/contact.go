package softrnic

import (
	"context"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// A Contact is the end of a connection of a connection manager that has no queue pair: the programs
// exchange private data, and learn when the connection ends. UCX connects its queue pairs by what
// that private data says. Like a Pair, a Contact is used for one connection.
type Contact struct {
	domain ddp.Domain // without memory
	conn   *conn.Conn
	left   context.Context // done once the program has disconnected
	leave  context.CancelFunc
}

// Config returns the configuration with which a connection with frames must begin. No peer may
// reach memory through it.
func (t *Contact) Config(_ Wire, ird, ord int) *conn.Config {
	const messages = 4 // the peer sends one, and two more if it has a queue pair that ends
	return &conn.Config{
		Domain: &t.domain, Denied: ddp.RemoteRead | ddp.RemoteWrite | ddp.RemoteAtomic,
		RecvSize: frameLen, RecvDepth: messages, SendDepth: messages, IRD: max(ird, 0), ORD: max(ord, 0),
		Terminate: rdmap.TerminateAtClose, StartupTimeout: replyTime, CloseTimeout: Linger,
	}
}

// ConfigFor is Config for a connection that a peer has begun.
func (t *Contact) ConfigFor(peer *conn.Conn, w Wire, ird, ord int) *conn.Config {
	c := t.Config(w, ird, ord)
	if isNear(peer) {
		c = nearConfig(c)
	}
	return c
}

// Expect and GiveUp make t an Owner. A peer reaches no memory, so it is not expected.
func (t *Contact) Expect(*conn.Conn) bool { return true }

// GiveUp closes a connection that does not become that of t.
func (t *Contact) GiveUp(c *conn.Conn) { _ = c.Close() } // nothing can be done about it

// Accept answers a peer's Request for c, which is to become the connection of t. If Accept returns
// an error, c is closed.
func (t *Contact) Accept(ctx context.Context, r *conn.Request, c *conn.Conn, cfg *conn.Config, private []byte) error {
	err := r.Accept(ctx, cfg, private)
	if err != nil {
		_ = c.Close() // err is the cause
	}
	return err
}

// Start makes c, which is in DDP mode, the connection of t. ended is called once, when the
// connection has ended for any reason. If Start returns an error, the peer is gone; then c is
// closed.
func (t *Contact) Start(c *conn.Conn, _ Wire, initiator bool, _ uint32, _ *uverbs.Attributes, ended func()) error {
	exchange := awaitPeer
	if initiator {
		exchange = sayHere
	}
	if err := exchange(c); err != nil {
		_ = c.Close() // err is the cause
		return err
	}
	t.conn = c
	t.left, t.leave = context.WithCancel(context.Background())
	go func() {
		// A peer with a queue pair may send frames, which a Contact cannot answer.
		_, _ = c.Read(make([]byte, frameLen))
		if t.left.Err() == nil { // the peer has disconnected first
			ended()
			select {
			case <-t.left.Done():
			case <-time.After(disconnectTime):
			}
			_ = c.Close() // that is the answer, and nothing can be done about an error
			return
		}
		_ = c.Close() // as above
		ended()
	}()
	return nil
}

// disconnectTime is how long an end that disconnects waits for the peer's program to do so, too.
// InfiniBand's connection manager tells a program that its connection has ended only once the
// peer's program knows that, and has answered. Its requests to disconnect time out after a minute.
const disconnectTime = 10 * time.Second

// Disconnect ends the connection of t, or answers the peer that has done so.
func (t *Contact) Disconnect() {
	if t.left.Err() != nil {
		return
	}
	t.conn.SetReadDeadline(time.Now().Add(disconnectTime))
	t.leave()
	_ = say(t.conn, frame{kind: frameBye}) // if it fails, the peer is gone
}
