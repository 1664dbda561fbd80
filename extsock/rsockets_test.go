package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn/bytestream/rsockets"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/simtoe"
)

// speaksRSockets is a side that speaks rsockets.
var speaksRSockets = side{cfg: extsock.Config{RSockets: true}}

// TestRSocketsStream moves data in both directions at once, in pieces of many lengths, with small
// and large receive buffers.
func TestRSocketsStream(t *testing.T) {
	for _, size := range []int{0, 512, 3000} {
		for _, piece := range []int{1, 7, 1000, 64 << 10, 1 << 20} {
			t.Run(fmt.Sprintf("half %d, pieces of %d", size, piece), func(t *testing.T) {
				s := side{cfg: extsock.Config{RSockets: true, RecvSize: size}}
				ci, cr := tcpPair(t, s, s)
				bounded(t, ci, cr)
				want := pattern(min(2<<20, 500*piece), 1)
				failed := make(chan error, 4)
				for _, c := range []*extsock.Conn{ci, cr} {
					go func() {
						for p := want; len(p) > 0; {
							n, err := c.Write(p[:min(piece, len(p))])
							if err != nil {
								failed <- err
								return
							}
							p = p[n:]
						}
						failed <- c.CloseWrite()
					}()
					go func() {
						got, err := io.ReadAll(c)
						if err == nil && !bytes.Equal(got, want) {
							err = fmt.Errorf("%d bytes read, other ones than the %d written", len(got), len(want))
						}
						failed <- err
					}()
				}
				for range cap(failed) {
					if err := <-failed; err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestRSocketsHalfClose: either end can still send after the other end's CloseWrite, and Close
// after CloseWrite tells the peer.
func TestRSocketsHalfClose(t *testing.T) {
	for _, responderFirst := range []bool{false, true} {
		first, second := tcpPair(t, speaksRSockets, speaksRSockets)
		bounded(t, first, second)
		if responderFirst {
			first, second = second, first
		}
		if err := first.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if n, err := second.Read(b); n != 0 || err != io.EOF {
			t.Fatalf("behind CloseWrite: %d, %v", n, err)
		}
		if _, err := first.Write(b); !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("Write after CloseWrite: %v", err)
		}
		if _, err := second.Write([]byte("more")); err != nil {
			t.Fatal(err)
		}
		if n, err := first.Read(b); string(b[:n]) != "more" || err != nil {
			t.Fatalf("%q, %v", b[:n], err)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := first.Read(b); n != 0 || err != io.EOF {
			t.Fatalf("behind Close: %d, %v", n, err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRSocketsClose: Close with unread data resets the connection. Without unread data it loses
// nothing that was written.
func TestRSocketsClose(t *testing.T) {
	ci, cr := tcpPair(t, speaksRSockets, speaksRSockets)
	bounded(t, ci, cr)
	want := pattern(100_000, 1)
	if _, err := ci.Write(want); err != nil {
		t.Fatal(err)
	}
	ci.Close()
	if got, err := io.ReadAll(cr); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := cr.Write(want); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write to a peer that is gone: %v", err)
	}

	ci, cr = tcpPair(t, speaksRSockets, speaksRSockets)
	bounded(t, ci, cr)
	if _, err := ci.Write(want); err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := cr.Read(one); err != nil {
		t.Fatal(err)
	}
	cr.Close()
	if _, err := ci.Read(one); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read when the peer has lost data: %v", err)
	}
	if _, err := cr.Read(one); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
}

// A hookedStream calls a function before its next write of at least 16 KiB, in the goroutine that
// writes.
type hookedStream struct {
	toe.Stream
	hook atomic.Pointer[func()]
}

func (s *hookedStream) TryWriteBatch(bufs [][]byte) (int, error) {
	n := 0
	for _, b := range bufs {
		n += len(b)
	}
	if n >= 16<<10 {
		if hook := s.hook.Swap(nil); hook != nil {
			(*hook)()
		}
	}
	return s.Stream.TryWriteBatch(bufs)
}

// TestRSocketsEndDuringWrite: a Write whose bytes are all on their way succeeds, although a Read
// has learned of the peer's end meanwhile. The next Write fails.
func TestRSocketsEndDuringWrite(t *testing.T) {
	a, b := kernelStreams(t)
	stream := &hookedStream{Stream: kernel.New(b.(*net.TCPConn))}
	f := startForger(t, a, stream, false, &extsock.Config{NoCapabilities: true}, 64<<10, forged) // the victim may send first
	read := make(chan error, 1)
	go func() {
		_, err := f.victim.Read(make([]byte, 1))
		read <- err
	}()
	writes, ended := make(chan struct{}), make(chan struct{})
	go func() { // in another goroutine than the hook's, which holds the token of the victim
		defer close(ended)
		<-writes
		f.send(controlWord(rsockets.Disconnect))
		if err := <-read; err != io.EOF {
			t.Errorf("the Read: %v", err)
		}
	}()
	hook := func() {
		close(writes)
		<-ended
	}
	stream.hook.Store(&hook)
	data := pattern(20_000, 1)
	if n, err := f.victim.Write(data); n != len(data) || err != nil {
		t.Errorf("the Write: %d of %d bytes, %v", n, len(data), err)
	}
	if n, err := f.victim.Write(data); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the next Write: %d bytes, %v", n, err)
	}
}

// TestRSocketsVerbs: the verbs return ErrMode, because they would disturb the stream and the peer
// cannot use them.
func TestRSocketsVerbs(t *testing.T) {
	ci, cr := tcpPair(t, speaksRSockets, speaksRSockets)
	bounded(t, ci, cr)
	if !ci.ConnectionState().ByteStream || !cr.ConnectionState().ByteStream {
		t.Error("not a byte stream")
	}
	h := register(t, cr, make([]byte, 8), ddp.RemoteRead|ddp.RemoteWrite).Handle()
	_, batchErr := ci.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Data: []byte("x"), Remote: h}})
	_, remoteErr := ci.Remote(h).ReadAt(make([]byte, 8), 0)
	for name, err := range map[string]error{
		"Send": postSend(ci, []byte("x")), "Write": postWrite(ci, h, []byte("x")), "PostBatch": batchErr, "ReadAt": remoteErr,
		"PostRecv": ci.PostRecv(rdmap.RecvRequest{Buf: make([]byte, 1)}),
	} {
		if !errors.Is(err, extsock.ErrMode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := ci.CloseRead(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseRead: %v", err)
	}
}

// TestRSocketsListener: one Listener serves peers with rddp's own byte stream, rsockets peers,
// foreign iWARP peers and plain TCP.
func TestRSocketsListener(t *testing.T) {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupPrefer, RSockets: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	states := make(chan extsock.ConnectionState, 1)
	go func() {
		for {
			c, err := acceptConn(l)
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 5)
				if _, err := io.ReadFull(c, b); err == nil {
					c.Write(b)
				}
				states <- c.ConnectionState()
				io.Copy(io.Discard, c)
			}()
		}
	}()
	require := extsock.StartupRequire
	for _, tt := range []struct {
		name        string
		cfg         *extsock.Config
		ddp, stream bool
		isRDDP      bool
	}{
		{"own", &extsock.Config{Startup: require}, true, true, true},
		{"rsockets", &extsock.Config{Startup: require, RSockets: true}, true, true, false},
		{"rsockets in revision 1", &extsock.Config{Startup: require, RSockets: true, Revision: 1}, true, true, false},
		{"foreign", &extsock.Config{Startup: require, NoCapabilities: true}, true, false, false},
		{"messages", &extsock.Config{Startup: require, Messages: true, RSockets: true}, true, false, true},
		{"plain", nil, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := extsock.Dial("tcp", l.Addr().String(), tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			bounded(t, c)
			defer c.Close()
			if _, err := c.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 5)
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
				t.Fatalf("%q, %v", b, err)
			}
			if s := <-states; s.DDPMode != tt.ddp || s.ByteStream != tt.stream || s.PeerIsRDDP != tt.isRDDP {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestRSocketsServerFirst: the Responder writes before the Initiator's program does anything.
func TestRSocketsServerFirst(t *testing.T) {
	ci, cr := tcpPair(t, speaksRSockets, speaksRSockets)
	bounded(t, ci, cr)
	if _, err := cr.Write([]byte("220 ready")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 9)
	if _, err := io.ReadFull(ci, b); err != nil || string(b) != "220 ready" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestRSocketsOtherPeers: an Initiator that speaks rsockets connects to no other peer.
func TestRSocketsOtherPeers(t *testing.T) {
	bigEndian := rsockets.Header{BigEndian: true, Credits: 16, Slots: rdmap.Handle{Len: 2}}.AppendTo(nil)
	for name, tt := range map[string]struct {
		cfg  extsock.Config
		want string
	}{
		"rddp":       {extsock.Config{}, "private data"},
		"foreign":    {extsock.Config{NoCapabilities: true, PrivateData: []byte("welcome")}, "private data"},
		"big-endian": {extsock.Config{NoCapabilities: true, PrivateData: bigEndian}, "big-endian"},
	} {
		a, b := kernelStreams(t)
		ci, cr := extsock.NewConn(a, true, &speaksRSockets.cfg), extsock.NewConn(b, false, &tt.cfg)
		t.Cleanup(func() { ci.Close(); cr.Close() })
		bounded(t, ci, cr)
		responder := make(chan error, 1)
		go func() { responder <- cr.EnableDDP(timeLimit(t), nil) }()
		if err := ci.EnableDDP(timeLimit(t), nil); !errors.Is(err, syscall.EPROTO) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		<-responder
	}
}

// A forger is a peer that speaks rsockets by hand.
type forger struct {
	t      *testing.T
	c      *extsock.Conn
	victim *extsock.Conn
	header rsockets.Header // of the victim
	order  binary.ByteOrder
	memory []byte // lent to the victim
}

// newForger returns the peer of a connection that speaks rsockets, in either role. It has sent own,
// in which it has filled in its own memory if own has none.
func newForger(t *testing.T, initiator bool, own rsockets.Header) *forger {
	t.Helper()
	a, b := kernelStreams(t)
	return startForger(t, a, b, initiator, &extsock.Config{NoCapabilities: true}, 1<<10, own)
}

// startForger is newForger over the streams a, which the forger uses, and b, with n bytes of
// memory.
func startForger(t *testing.T, a, b net.Conn, initiator bool, cfg *extsock.Config, n int, own rsockets.Header) *forger {
	t.Helper()
	f := &forger{t: t, order: own.Order()}
	f.c = extsock.NewConn(a, initiator, cfg)
	f.victim = extsock.NewConn(b, !initiator, &speaksRSockets.cfg)
	t.Cleanup(func() { f.c.Close(); f.victim.Close() })
	bounded(t, f.c, f.victim)
	if own.Slots.STag == 0 {
		own.Slots = register(t, f.c, make([]byte, rsockets.Slots*rsockets.SlotLen), ddp.RemoteWrite).Handle()
		own.Slots.Len = rsockets.Slots
	}
	if own.Buffer.STag == 0 {
		f.memory = make([]byte, n)
		own.Buffer = register(t, f.c, f.memory, ddp.RemoteWrite).Handle()
	}
	victim := make(chan error, 1)
	go func() { victim <- f.victim.EnableDDP(timeLimit(t), nil) }()
	if err := errors.Join(f.c.EnableDDP(timeLimit(t), own.AppendTo(nil)), <-victim); err != nil {
		t.Fatal(err)
	}
	h, err := rsockets.ParseHeader(f.c.ConnectionState().PeerPrivateData)
	if err != nil {
		t.Fatal(err)
	}
	f.header = h
	return f
}

func (f *forger) send(words ...rsockets.Word) {
	f.t.Helper()
	for _, w := range words {
		b := make([]byte, rsockets.WordLen)
		rsockets.PutWord(f.order, b, w)
		if err := f.sendBytes(b); err != nil {
			f.t.Fatal(err)
		}
	}
}

// sendBytes sends one message. The victim may have ended the connection meanwhile.
func (f *forger) sendBytes(b []byte) error {
	_, err := f.c.Write(b)
	var terminate *rdmap.TerminateError
	if errors.As(err, &terminate) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// write writes data to the victim's buffer, off bytes behind its beginning.
func (f *forger) write(off int64, data []byte) {
	f.t.Helper()
	h := f.header.Buffer
	h.TO += uint64(off)
	if err := postWrite(f.c, h, data); err != nil {
		f.t.Fatal(err)
	}
}

func dataWord(n uint32) rsockets.Word    { return rsockets.NewWord(rsockets.OpData, n) }
func creditsWord(n uint32) rsockets.Word { return rsockets.NewWord(rsockets.OpCredits, n) }
func controlWord(n uint32) rsockets.Word { return rsockets.NewWord(rsockets.OpControl, n) }

var forged = rsockets.Header{Credits: 16}

// TestRSocketsForgedWords: a word that the peer may not send ends its connection with EPROTO and a
// Terminate, in both roles, and no other connection.
func TestRSocketsForgedWords(t *testing.T) {
	bystander, peer := tcpPair(t, speaksRSockets, speaksRSockets)
	bounded(t, bystander, peer)
	for name, words := range map[string][]rsockets.Word{
		"2^29-1 bytes":         {dataWord(1<<29 - 1)},
		"no bytes":             {dataWord(0)},
		"beyond the half":      {dataWord(1), dataWord(64 << 10)},
		"credits of nothing":   {creditsWord(17)},
		"credits taken back":   {creditsWord(15)},
		"a limit of 2^16-1":    {creditsWord(1<<16 - 1)},
		"reserved 1":           {rsockets.NewWord(1, 5)},
		"reserved 5":           {rsockets.NewWord(5, 5)},
		"an IO map":            {rsockets.NewWord(rsockets.OpIOMap, 1<<29-1)},
		"unknown control":      {controlWord(9)},
		"data behind shutdown": {controlWord(rsockets.Shutdown), dataWord(1)},
		"shutdown twice":       {controlWord(rsockets.Shutdown), controlWord(rsockets.Shutdown)},
	} {
		for _, initiator := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, initiator %t", name, initiator), func(t *testing.T) {
				f := newForger(t, initiator, forged)
				f.send(words...)
				_, err := io.Copy(io.Discard, f.victim)
				if len(words) == 2 && words[0] == controlWord(rsockets.Shutdown) && err == nil {
					// The end of the stream came first; what is behind it ends the other direction.
					for err == nil {
						_, err = f.victim.Write([]byte("x"))
					}
					return
				}
				if !errors.Is(err, syscall.EPROTO) {
					t.Errorf("the victim's Read: %v", err)
				}
				_, err = io.Copy(io.Discard, f.c)
				if terminate := (*rdmap.TerminateError)(nil); initiator && !errors.As(err, &terminate) {
					t.Errorf("the forger's Read: %v", err)
				}
			})
		}
	}
	if _, err := bystander.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(peer, b); err != nil || string(b) != "hello" {
		t.Errorf("the bystander: %q, %v", b, err)
	}
}

// TestRSocketsForgedMessages: a message that is not a word ends the connection.
func TestRSocketsForgedMessages(t *testing.T) {
	for _, n := range []int{0, 1, 3, 5, 1000} {
		f := newForger(t, true, forged)
		if err := f.sendBytes(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		_, err := f.victim.Read(make([]byte, 1))
		if terminate := (*rdmap.TerminateError)(nil); !errors.Is(err, syscall.EPROTO) && !errors.As(err, &terminate) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestRSocketsMemory: the peer can write only to the half that is lent. A full half is no longer
// lent.
func TestRSocketsMemory(t *testing.T) {
	const half = 64 << 10
	for name, forge := range map[string]func(f *forger){
		"behind the half":  func(f *forger) { f.write(half, []byte("x")) },
		"before the half":  func(f *forger) { f.write(-1, []byte("x")) },
		"across its end":   func(f *forger) { f.write(half-1, []byte("xx")) },
		"behind the slots": func(f *forger) { f.header.Buffer = f.header.Slots; f.write(32, []byte("x")) },
		"the Region of nobody": func(f *forger) {
			f.header.Buffer.STag ^= 0x5a5a5a00
			f.write(0, []byte("x"))
		},
		"a half that is full": func(f *forger) {
			f.write(0, pattern(half, 1))
			f.send(dataWord(half))
			if _, err := io.ReadFull(f.victim, make([]byte, 1)); err != nil {
				f.t.Fatal(err)
			}
			f.write(0, []byte("overwritten"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForger(t, true, forged)
			forge(f)
			got, err := io.ReadAll(f.victim)
			if access := (*ddp.AccessError)(nil); !errors.As(err, &access) {
				t.Errorf("the victim's Read: %v", err)
			}
			if len(got) > 0 && !bytes.Equal(got, pattern(half, 1)[1:]) {
				t.Errorf("%d bytes were overwritten", len(got))
			}
		})
	}
}

// TestRSocketsOverwrittenSlots: whatever a peer writes to the slots, data goes only to that peer,
// and one descriptor too many ends the connection.
func TestRSocketsOverwrittenSlots(t *testing.T) {
	f := newForger(t, true, rsockets.Header{Credits: 1000, Buffer: rdmap.Handle{STag: 0xbad}})
	slot := make([]byte, rsockets.SlotLen)
	rsockets.PutSlot(f.order, slot, rdmap.Handle{STag: 0xbad, TO: 1<<64 - 1, Len: 1<<32 - 1})
	for i := range 3 {
		to := f.header.Slots
		to.TO += uint64((1 + i) % 2 * rsockets.SlotLen)
		if err := postWrite(f.c, to, slot); err != nil {
			t.Fatal(err)
		}
		f.send(creditsWord(1000), dataWord(1)) // the Read of the data has looked at the slot
		if _, err := f.victim.Read(make([]byte, 1)); (i == 2) != errors.Is(err, syscall.EPROTO) {
			t.Errorf("descriptor %d: %v", i+1, err)
		}
	}

	own := rsockets.Header{Credits: 1000, Buffer: rdmap.Handle{STag: 0xbad, Len: 1 << 20}}
	f = newForger(t, true, own) // lends memory that it does not have
	f.send(creditsWord(1000))   // so that the victim may send
	var err error
	for err == nil {
		_, err = f.victim.Write(make([]byte, 1000))
	}
	if terminate := (*rdmap.TerminateError)(nil); !errors.As(err, &terminate) {
		t.Errorf("a Write to memory that the peer does not have: %v", err)
	}
}

// TestRSocketsLost: a connection that ends without a word about the end is lost. Data that came
// before can still be read.
func TestRSocketsLost(t *testing.T) {
	f := newForger(t, true, forged)
	f.write(0, []byte("hello"))
	f.send(dataWord(5))
	if _, err := f.c.Read(make([]byte, rsockets.WordLen)); err != nil { // unread, it would make Close reset
		t.Fatal(err)
	}
	f.c.Close()
	got, err := io.ReadAll(f.victim)
	if string(got) != "hello" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRSocketsByteOrder: a Responder adopts the byte order of the Initiator's machine.
func TestRSocketsByteOrder(t *testing.T) {
	own := forged
	own.BigEndian = true
	f := newForger(t, true, own)
	if !f.header.BigEndian {
		t.Error("the Reply is little-endian")
	}
	f.write(0, []byte("hello"))
	f.send(dataWord(5))
	b := make([]byte, 10)
	if n, err := f.victim.Read(b); string(b[:n]) != "hello" || err != nil {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if _, err := f.victim.Write([]byte("world")); err != nil {
		t.Fatal(err)
	}
	// The word behind the data; before it came one about the second half.
	for range 2 {
		n, err := f.c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := rsockets.ParseWord(binary.BigEndian, b[:n]); err != nil || w != dataWord(5) && w.Op() != rsockets.OpCredits {
			t.Fatalf("%x, %v", b[:n], err)
		}
	}
	if string(f.memory[:5]) != "world" {
		t.Errorf("written: %q", f.memory[:5])
	}
}

// TestRSocketsFlood: while the program does not read, a peer that sends more words than the limit
// allows fills the inbox, and then TCP holds it back. Reads find all data.
func TestRSocketsFlood(t *testing.T) {
	f := newForger(t, true, forged)
	want := pattern(1000, 1)
	f.write(0, want)
	for range want {
		f.send(dataWord(1))
	}
	prototest.Wait(t, "the words fill the inbox", func() bool { return extsock.Unread(f.victim) == 128*512 })
	got := make([]byte, len(want))
	if _, err := io.ReadFull(f.victim, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v", err)
	}
}

// A fullStream takes no output until room is closed, as a socket does whose send buffer is full. It
// stands in for small kernel buffers: with a full receive buffer the peer's kernel may drop
// acknowledgments too, and then nothing moves.
type fullStream struct {
	toe.Stream
	room chan struct{}
}

func (s *fullStream) TryWriteBatch(bufs [][]byte) (int, error) {
	if !wait.IsClosed(s.room) {
		return 0, nil
	}
	return s.Stream.TryWriteBatch(bufs)
}

func (s *fullStream) WaitWritable() error {
	<-s.room
	return s.Stream.WaitWritable()
}

// TestRSocketsCrowded: while TCP takes nothing, words for the peer do not take all places of
// messages under way. A Write that has found room before they were queued looks again, and there is
// a place for the word of CloseWrite.
func TestRSocketsCrowded(t *testing.T) {
	const (
		piece  = 2 << 10
		answer = (128 - 16) / 2 // number of words that one word of the victim answers
		places = 30             // for all but the words about the end
	)
	a, b := kernelStreams(t)
	stream := &fullStream{Stream: kernel.New(b.(*net.TCPConn)), room: make(chan struct{})}
	makeRoom := sync.OnceFunc(func() { close(stream.room) })
	defer makeRoom() // Close waits for it
	f := startForger(t, a, stream, true, &extsock.Config{NoCapabilities: true}, 64<<10, rsockets.Header{Credits: 1 << 15})
	var read atomic.Int64
	reads, writes := make(chan error, 1), make(chan error, 1)
	go func() {
		one := make([]byte, answer)
		for {
			n, err := f.victim.Read(one)
			read.Add(int64(n))
			if err != nil {
				reads <- err
				return
			}
		}
	}()
	f.send(controlWord(rsockets.KeepAlive)) // lets the victim send
	go func() {
		b := make([]byte, piece)
		var err error
		for err == nil {
			_, err = f.victim.Write(b)
		}
		writes <- err
	}()
	prototest.Wait(t, "data fills its places", func() bool { return extsock.Outgoing(f.victim) == 24 })
	f.write(0, make([]byte, 2000))
	for sent, before := 0, 0; before < places || before < extsock.Outgoing(f.victim); {
		before = extsock.Outgoing(f.victim)
		for range answer {
			f.send(dataWord(1))
		}
		sent += answer
		prototest.Wait(t, "the words are read", func() bool { return read.Load() == int64(sent) })
	}
	before := extsock.Outgoing(f.victim)
	if before != places {
		t.Errorf("%d messages are under way, want %d and places for the words about the end", before, places)
	}
	if sent, err := extsock.SendNow(f.victim, piece); sent || err != nil {
		t.Errorf("data goes out where %d messages are under way: %t, %v", before, sent, err)
	}
	if err := f.victim.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := <-writes; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the Write: %v", err)
	}
	makeRoom()
	for w := rsockets.Word(0); w != controlWord(rsockets.Shutdown); {
		b := make([]byte, rsockets.WordLen)
		n, err := f.c.Read(b)
		if err == nil {
			w, err = rsockets.ParseWord(f.order, b[:n])
		}
		if err != nil {
			t.Fatalf("before the word of CloseWrite: %v", err)
		}
	}
	f.send(controlWord(rsockets.Disconnect))
	if err := <-reads; err != io.EOF {
		t.Errorf("the Read: %v", err)
	}
}

// TestRSocketsAllocations: in the steady state a Write and a Read allocate nothing, not even in a
// burst. A half of the receive buffer costs a few allocations each time it is lent.
func TestRSocketsAllocations(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, length := range []int{1, 64, 1 << 10} {
		ci, cr := tcpPair(t, speaksRSockets, speaksRSockets)
		bounded(t, ci, cr)
		out, in := make([]byte, length), make([]byte, length)
		var failed error
		once := func() {
			if _, err := ci.Write(out); err != nil {
				failed = err
			}
			if _, err := io.ReadFull(cr, in); err != nil {
				failed = err
			}
		}
		for range 200 {
			once()
		}
		if n := allocations(once); n > allocRounds/10 || failed != nil {
			t.Errorf("%d bytes: %v allocations in %d rounds, %v", length, n, allocRounds, failed)
		}
	}
}

// TestRSocketsReads: Reads that wait at the same time share the data of one message.
func TestRSocketsReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, speaksRSockets, speaksRSockets)
		defer cr.Close()
		defer ci.Close()
		const reads = 5
		got := make(chan error, reads)
		for range reads {
			go func() {
				_, err := ci.Read(make([]byte, 1))
				got <- err
			}()
		}
		synctest.Wait()
		if _, err := cr.Write(make([]byte, reads)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) < reads {
			t.Fatalf("%d of %d Reads have returned", len(got), reads)
		}
		for range reads {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRSocketsNudges: an Initiator sends Writes of length 0 until data comes, at most five, and
// none after Close. A word that is not data does not count.
func TestRSocketsNudges(t *testing.T) {
	for _, tt := range []struct {
		desc         string
		data, closes time.Duration // after startup; 0: never
		nudges       uint64
	}{
		{"data at once", time.Millisecond, 0, 0},
		{"data after 300 ms", 300 * time.Millisecond, 0, 3},
		{"no data", 0, 0, 5},
		{"Close after 150 ms", 0, 150 * time.Millisecond, 2},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, speaksRSockets, speaksRSockets)
				defer cr.Close()
				defer ci.Close()
				go ci.Read(make([]byte, 1)) // receives words too
				synctest.Wait()
				initiator, responder := ci.Stats().Sent.Writes, cr.Stats().Sent.Writes
				if tt.data > 0 {
					time.Sleep(tt.data)
					if _, err := cr.Write([]byte("x")); err != nil {
						t.Fatal(err)
					}
					responder++
				}
				if tt.closes > 0 {
					time.Sleep(tt.closes)
					ci.Close()
				}
				time.Sleep(time.Minute)
				if n := ci.Stats().Sent.Writes - initiator; n != tt.nudges {
					t.Errorf("%d nudges, want %d", n, tt.nudges)
				}
				if n := cr.Stats().Sent.Writes - responder; n != 0 {
					t.Errorf("%d nudges from the Responder", n)
				}
			})
		})
	}
}

// TestRSocketsBurst: short Writes that follow one another quickly wait and go out together, on each
// of these occasions. A Write that answers data of the peer does not wait.
func TestRSocketsBurst(t *testing.T) {
	const count = 10 // Writes, of which the first four go out at once
	for _, tt := range []struct {
		desc string
		then func(t *testing.T, c *extsock.Conn)
		more uint64 // words that then sends itself
	}{
		{"a moment", func(*testing.T, *extsock.Conn) {}, 0},
		{"a Read that waits", func(_ *testing.T, c *extsock.Conn) { go c.Read(make([]byte, 1)) }, 0},
		{"a long Write", func(t *testing.T, c *extsock.Conn) {
			if _, err := c.Write(make([]byte, 8<<10)); err != nil {
				t.Error(err)
			}
		}, 1},
		{"CloseWrite", func(t *testing.T, c *extsock.Conn) {
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
		}, 1},
		{"Close", func(_ *testing.T, c *extsock.Conn) { c.Close() }, 1},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, speaksRSockets, speaksRSockets)
				defer cr.Close()
				defer ci.Close()
				arrived := func() uint64 {
					synctest.Wait()
					return cr.Stats().Received.Sends
				}
				burst := func(n int) {
					t.Helper()
					for range n {
						if _, err := ci.Write([]byte("x")); err != nil {
							t.Fatal(err)
						}
					}
				}
				if _, err := cr.Write([]byte("?")); err != nil {
					t.Fatal(err)
				}
				if _, err := ci.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				before := arrived()
				burst(1)
				if n := arrived() - before; n != 1 {
					t.Fatalf("%d of 1 Writes have arrived, the answer to data", n)
				}
				burst(count - 1)
				if n := arrived() - before; n != firstOfBurst {
					t.Errorf("%d of %d Writes have arrived before anything else happens, want %d", n, count, firstOfBurst)
				}
				if tt.then(t, ci); tt.desc == "a moment" {
					time.Sleep(time.Millisecond)
				}
				if n := arrived() - before; n != count+tt.more {
					t.Errorf("%d words have arrived, want %d", n, count+tt.more)
				}
			})
		})
	}
	// More Writes than there are places: the one that finds no place sends those before it.
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, speaksRSockets, speaksRSockets)
		defer cr.Close()
		defer ci.Close()
		const writes = 100
		began := time.Now()
		for range writes {
			if _, err := ci.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the Writes have waited for %v", waited)
		}
		if n, err := io.ReadFull(cr, make([]byte, writes)); err != nil {
			t.Errorf("%d of %d bytes: %v", n, writes, err)
		}
		// The answer is not put off although the burst before it was long.
		if _, err := cr.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		if _, err := ci.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := cr.Stats().Received.Sends
		if _, err := ci.Write([]byte("!")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := cr.Stats().Received.Sends - before; n != 1 {
			t.Errorf("%d words have arrived, want the answer", n)
		}
	})
}
