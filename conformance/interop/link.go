//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

const (
	LinkPort  = 7500
	LinkLimit = 20 * time.Second // longest wait for this stack
	linkRecvs = 64               // receives that both ends post
	longest   = 300001           // octets of a message, and of each receive

	// siwSeed and ownSeed are the seeds of the patterns in the two ends' memory and messages.
	siwSeed = 1
	ownSeed = 2

	regionLen = 1 << 20

	stallPause = 100 * time.Millisecond // after siw's Reply: earlier octets may stay unread, see TestSiwStall
)

// sizes are payload lengths: none, around a pad, one segment, many segments.
var sizes = []int{0, 1, 2, 3, 4, 1000, 1500, 65536, 300001}

// A link is a connection between siw and this stack.
type link struct {
	t    *testing.T
	g    *Guest
	siw  *Peer
	conn *extsock.Conn
	seen *wiretap

	// region is siw's memory: "a", regionLen octets, open to remote Reads and Writes, filled with
	// siwSeed.
	region Region
	// told is the event by which siw's program learned of this stack: connect_request or
	// established.
	told Line
	recv [][]byte // the receive buffers that this stack has posted, by ID
	tcp  net.Conn // under conn
}

// LinkConfig describes how siw and this stack connect.
type LinkConfig struct {
	siwInitiates bool           // otherwise this stack is the Initiator
	own          extsock.Config // of this stack; Tap is the link's
	siw          string         // arguments of siwpeer's accept or connect; "" means "ird=16 ord=16"
	siwRecvs     string         // arguments of siwpeer's recv; "" means linkRecvs of length longest, "none" posts none
	ownRecvs     int            // this stack's receives; 0 is linkRecvs, negative none
	ownRecvLen   int            // their length; 0 is longest
	private      []byte         // this stack's private data
	quiet        bool           // siw as the Initiator sends nothing yet, so neither may this stack
	damage       bool           // tcp is a *damaged
	// User is this stack's TCP, over the guest's Ethernet. nil means the operating system's TCP,
	// over the NAT.
	User toe.Backend
}

func (c *LinkConfig) siwArgs() string {
	if c.siw == "" {
		return "ird=16 ord=16"
	}
	return c.siw
}

// newLink connects siw and this stack. Afterwards both are in full operation, and siw reads
// everything that is sent.
func newLink(t *testing.T, g *Guest, c LinkConfig) *link {
	t.Helper()
	l := &link{t: t, g: g, siw: g.Peer(t), seen: new(wiretap)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last frames: %s", l.seen.last(10))
			l.seen.logWrongCRCs(t)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), LinkLimit)
	defer cancel()
	var err error
	if c.siwInitiates {
		err = l.accept(ctx, &c)
	} else {
		err = l.dial(ctx, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.siwInitiates && !c.quiet {
		// A Responder sends nothing before the Initiator's first FPDU (RFC 5044 §7.1.2).
		l.siw.Do("do op=write len=0")
	}
	return l
}

// logState logs the state of this stack's end of the connection. A post on a connection that has
// ended returns the reason, and on one that has not, a Write of length 0 is harmless.
func (l *link) logState() {
	s := l.conn.ConnectionState()
	err := l.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true})
	l.t.Logf("this stack: DDP mode %t, revision %d, CRC %t, IRD %d, ORD %d; posting a Write: %v", s.DDPMode, s.Revision, s.CRC, s.IRD, s.ORD, err)
}

// dial connects to siw, which is the Responder.
func (l *link) dial(ctx context.Context, c *LinkConfig) error {
	l.siw.Do("listen port=%d", LinkPort)
	l.siw.Send("request sq=128 rq=128")
	l.prepareSiw(c)
	l.siw.Send("accept %s", c.siwArgs())
	tcp, err := c.dial(ctx, l)
	if err != nil {
		return err
	}
	l.open(tcp, true, c)
	if err := l.conn.EnableDDP(ctx, c.private); err != nil {
		return err
	}
	stop := make(chan struct{})
	nudged := make(chan struct{})
	go func() {
		defer close(nudged)
		if c.own.PeerToPeer {
			l.nudge(stop)
		}
	}()
	r := l.siw.MustReply()
	l.told, _ = r.Event("connect_request")
	l.takeRegion(c)
	// Only now is siw sure to read what is sent to it (its fault "stall").
	l.siw.MustReply()
	close(stop)
	<-nudged
	return nil
}

// nudge sends Writes of length 0, which no program sees, until stop is closed. The RTR goes out
// before siw is sure to see it (its fault "stall"), and siw is not established without it.
func (l *link) nudge(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(stallPause):
			_ = l.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true}) // errors show elsewhere
		}
	}
}

// accept accepts a connection from siw, which is the Initiator.
func (l *link) accept(ctx context.Context, c *LinkConfig) error {
	accept, port, err := c.listen(l)
	if err != nil {
		return err
	}
	l.siw.Do("resolve addr=%s port=%d sq=128 rq=128", HostIP, port)
	l.prepareSiw(c)
	l.takeRegion(c)
	l.siw.Send("connect %s", c.siwArgs())
	tcp, err := accept()
	if err != nil {
		return err
	}
	l.open(tcp, false, c)
	if err := l.conn.EnableDDP(ctx, c.private); err != nil {
		return err
	}
	l.told, _ = l.siw.MustReply().Event("established")
	return nil
}

// dial makes a TCP connection to siw.
func (c *LinkConfig) dial(ctx context.Context, l *link) (net.Conn, error) {
	if c.User != nil {
		return c.User.Dial(ctx, "tcp", net.JoinHostPort(GuestIP, strconv.Itoa(LinkPort)))
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", l.g.Forward(l.t, LinkPort))
}

// listen listens for a TCP connection from siw until the test ends.
func (c *LinkConfig) listen(l *link) (accept func() (net.Conn, error), port int, err error) {
	if c.User != nil {
		listener, err := c.User.Listen(l.t.Context(), "tcp", ":0")
		if err != nil {
			return nil, 0, err
		}
		l.t.Cleanup(func() { listener.Close() })
		return func() (net.Conn, error) { return listener.Accept() }, listener.Addr().(*net.TCPAddr).Port, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	l.t.Cleanup(func() { listener.Close() })
	return listener.Accept, listener.Addr().(*net.TCPAddr).Port, nil
}

// prepareSiw makes siw register and fill its memory and post its receives. takeRegion reads the
// answers.
func (l *link) prepareSiw(c *LinkConfig) {
	l.siw.Send("mr len=%d", regionLen)
	l.siw.Send("fill seed=%d", siwSeed)
	switch c.siwRecvs {
	case "":
		l.siw.Send("recv n=%d len=%d", linkRecvs, longest)
	case "none":
	default:
		l.siw.Send("recv %s", c.siwRecvs)
	}
}

func (l *link) takeRegion(c *LinkConfig) {
	l.region = l.siw.MustReply().Region()
	l.siw.MustReply()
	if c.siwRecvs != "none" {
		l.siw.MustReply()
	}
}

// open makes the extended socket and posts its receives.
func (l *link) open(tcp net.Conn, initiator bool, c *LinkConfig) {
	l.t.Helper()
	n, size := c.ownRecvs, c.ownRecvLen
	if n == 0 {
		n = linkRecvs
	}
	if size == 0 {
		size = longest
	}
	cfg := c.own
	cfg.RecvDepth = max(n, 1)
	cfg.RecvCQ = extsock.NewCompletionQueue(cfg.RecvDepth) // so that the receive queue is ours even without receives
	cfg.Tap = func(net.Addr, net.Addr, bool) toe.Tap { return l.seen }
	if c.damage {
		tcp = &damaged{Conn: tcp}
	}
	l.tcp = tcp
	l.conn = extsock.NewConn(tcp, initiator, &cfg)
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.logState()
		}
		l.conn.Close()
	})
	for id := range n {
		l.recv = append(l.recv, make([]byte, size))
		l.post(uint64(id))
	}
}

// post posts a receive buffer, for the first time or again.
func (l *link) post(id uint64) {
	l.t.Helper()
	if err := l.conn.PostRecv(rdmap.RecvRequest{ID: id, Buf: l.recv[id]}); err != nil {
		l.t.Fatal(err)
	}
}

// completion waits for the next completion of this stack, whatever its status.
func (l *link) completion(q *extsock.CompletionQueue) rdmap.Completion {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), LinkLimit)
	defer cancel()
	c, err := q.Wait(ctx)
	if err != nil {
		l.t.Fatalf("no completion: %v", err)
	}
	return c
}

// do posts a request of this stack and waits for its success.
func (l *link) do(wr rdmap.WorkRequest) {
	l.t.Helper()
	if err := l.conn.Post(&wr); err != nil {
		l.t.Fatalf("posting %v: %v", wr.Op, err)
	}
	if c := l.completion(l.conn.SendCQ()); c.Status != rdmap.StatusOK || c.Op != wr.Op {
		l.t.Fatalf("%v completes as %v", wr.Op, c)
	}
}

// received waits for the next message to this stack, posts its buffer again and returns its octets.
func (l *link) received() (rdmap.Completion, []byte) {
	l.t.Helper()
	c := l.completion(l.conn.RecvCQ())
	if c.Status != rdmap.StatusOK {
		l.t.Fatalf("the receive completes as %v", c)
	}
	data := append([]byte(nil), l.recv[c.ID][:c.Len]...)
	l.post(c.ID)
	return c, data
}

// register lends b to siw.
func (l *link) register(b []byte, a ddp.Access) extsock.Region {
	l.t.Helper()
	r, err := l.conn.Register(b, a)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// remote returns the handle of n octets of siw's region from off on.
func (r Region) remote(off, n int) rdmap.Handle {
	return rdmap.Handle{STag: ddp.STag(r.STag), TO: r.TO + uint64(off), Len: uint32(n)}
}

// sync waits until siw has executed everything that this stack has sent.
func (l *link) sync() {
	l.t.Helper()
	l.do(rdmap.WorkRequest{Op: rdmap.WorkSend})
	if c := l.siw.Wait("rq", 1)[0]; c.Status != "success" || c.Len != 0 {
		l.t.Errorf("siw receives %+v", c)
	}
	l.siw.Do("recv len=%d", longest)
}

// end closes the connection in an orderly way, siw first or this stack alone, and waits until siw
// has seen it.
func (l *link) end(siwFirst bool) {
	l.t.Helper()
	if siwFirst {
		l.siw.Do("disconnect")
		if c := l.completion(l.conn.RecvCQ()); c.Status != rdmap.StatusFlushed {
			l.t.Errorf("after siw's close a receive completes as %v", c)
		}
	}
	if err := l.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		l.t.Errorf("Close: %v", err)
	}
	l.siw.Do("event name=disconnected")
}

// A LinkSetting is a way of starting a connection.
type LinkSetting struct {
	desc string
	siw  []string       // parameters, for siw as the Initiator
	own  extsock.Config // for this stack as the Initiator; as the Responder this stack follows siw
}

// LinkSettings are the ways of starting a connection over which the operations are tested, each
// with siw in both roles.
var LinkSettings = []LinkSetting{
	{"revision 2", nil, extsock.Config{NoCRC: true, NoCapabilities: true}},
	{"revision 2 with CRC", []string{"mpa_crc_required=1"}, extsock.Config{NoCapabilities: true}},
	{"revision 1", []string{"mpa_version=1"}, extsock.Config{Revision: 1, NoCRC: true, NoCapabilities: true}},
	{"revision 1 with CRC", []string{"mpa_version=1", "mpa_crc_required=1"}, extsock.Config{Revision: 1, NoCapabilities: true}},
	{"peer-to-peer, Write", []string{"peer_to_peer=1"}, extsock.Config{NoCRC: true, PeerToPeer: true, NoCapabilities: true}},
	{"peer-to-peer, Read, with CRC", []string{"peer_to_peer=1", "rtr_kinds=0x4000", "mpa_crc_required=1"},
		extsock.Config{PeerToPeer: true, RTR: mpa.RTRRead, NoCapabilities: true}},
	// Both ends' defaults: this stack announces its capabilities, which siw treats as private data.
	{"defaults", nil, extsock.Config{}},
}

// eachLink runs f over every setting, with siw as the Initiator and as the Responder.
func eachLink(t *testing.T, f func(t *testing.T, g *Guest, c LinkConfig)) {
	EachOf(t, testmode.Share(t, LinkSettings), func(t *testing.T) *Guest { return Start(t) }, f)
}

// EachOf runs f over some settings, with the guest that start returns.
func EachOf(t *testing.T, settings []LinkSetting, start func(t *testing.T) *Guest, f func(t *testing.T, g *Guest, c LinkConfig)) {
	for _, s := range settings {
		for _, siwInitiates := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s", s.desc, roleOfSiw(siwInitiates)), func(t *testing.T) {
				g := start(t)
				g.SetSiw(t, s.siw...)
				if !s.own.NoCRC {
					g.SetSiw(t, "fix_split_trailer=1") // siw's fault "split trailer"
				}
				c := LinkConfig{siwInitiates: siwInitiates, own: s.own}
				if siwInitiates {
					// The Responder of a revision 2 stack answers Requests of revision 1 as well.
					c.own.Revision, c.own.PeerToPeer, c.own.RTR = 0, false, 0
				}
				f(t, g, c)
			})
		}
	}
}

func roleOfSiw(initiates bool) string {
	if initiates {
		return "siw is Initiator"
	}
	return "siw is Responder"
}

// A damaged connection changes an octet of the data that is read, once it is armed.
type damaged struct {
	net.Conn
	armed atomic.Bool
}

func (d *damaged) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if n > 0 && d.armed.Swap(false) {
		p[n/2] ^= 0x20
	}
	return n, err
}
