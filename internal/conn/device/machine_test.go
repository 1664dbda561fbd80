package device

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// An end is one end of a connection under test: a machine and its memory. The queue pair is made of
// lists; post, complete and arrive move one thing at a time.
type end struct {
	t      *testing.T
	m      *machine
	memory []byte
	peer   *end

	posted   []action // Sends, Reads and Writes that have not completed
	receives []action
	wire     [][]byte // messages on their way to the peer
}

var small = layout{receives: 8 + bytestream.ExtraBuffers, receiveLen: 512, sends: 2, sendLen: 512}

// newEnds returns two connected ends on RNICs. dials is the end that dials.
func newEnds(t *testing.T) (dials, accepts *end) {
	ends := [2]*end{}
	for i := range ends {
		m := newMachine(small)
		ends[i] = &end{t: t, m: m, memory: make([]byte, m.len())}
		m.begin(peerConfig{credits: 8, maxMessage: 512, window: 8, greets: i == 0, waits: i == 1})
	}
	ends[0].peer, ends[1].peer = ends[1], ends[0]
	for _, e := range ends { // as Prepare does
		for len(e.m.idle) > 0 {
			e.post()
		}
	}
	return ends[0], ends[1]
}

// post posts the next action, if there is one.
func (e *end) post() bool {
	a, ok := e.m.next(e.memory)
	switch {
	case !ok:
		return false
	case a.op == postReceive:
		e.receives = append(e.receives, a)
		return true
	case a.op == postSend:
		e.wire = append(e.wire, bytes.Clone(e.memory[a.off:][:a.n]))
	}
	e.posted = append(e.posted, a)
	return true
}

// complete completes the oldest action that is posted. A Read completes when everything before it
// has arrived.
func (e *end) complete() bool {
	if len(e.posted) == 0 || e.posted[0].op == postFlush && len(e.wire) > 0 {
		return false
	}
	a := e.posted[0]
	e.posted = e.posted[1:]
	e.m.completed(&rnic.Completion{ID: a.id}, e.memory)
	return true
}

// arrive delivers one message to e.
func (e *end) arrive() bool {
	if len(e.peer.wire) == 0 {
		return false
	}
	b := e.peer.wire[0]
	e.peer.wire = e.peer.wire[1:]
	e.receive(b)
	return true
}

func (e *end) receive(b []byte) {
	if len(e.receives) == 0 {
		e.t.Fatalf("a message of %d bytes finds no receive", len(b))
	}
	a := e.receives[0]
	e.receives = e.receives[1:]
	copy(e.memory[a.off:][:a.n], b)
	e.m.completed(&rnic.Completion{ID: a.id, Op: rnic.OpReceive, Len: len(b)}, e.memory)
}

// settle moves everything until nothing moves any more.
func settle(ends ...*end) {
	for moved := true; moved; {
		moved = false
		for _, e := range ends {
			moved = e.post() || e.arrive() || e.complete() || moved
		}
	}
}

// write writes as much of p as can go out now.
func (e *end) write(p []byte) (n int) {
	e.t.Helper()
	if err := e.m.mayWrite(); err != nil {
		e.t.Fatal(err)
	}
	e.m.tx.Post(p, 0)
	for e.post() {
	}
	e.m.tx.GiveUp()
	return e.m.tx.End()
}

// wantNothing checks that Read would find neither data nor an end.
func (e *end) wantNothing() {
	e.t.Helper()
	if n, ok, err := e.m.read(make([]byte, 1), nil); ok {
		e.t.Errorf("read %d bytes, %v, want nothing yet", n, err)
	}
}

func (e *end) wantRead(want string, wantErr error) {
	e.t.Helper()
	p := make([]byte, 100)
	n, ok, err := e.m.read(p, nil)
	if !ok || string(p[:n]) != want || !errors.Is(err, wantErr) {
		e.t.Errorf("read = %q, %v, %v, want %q, %v", p[:n], ok, err, want, wantErr)
	}
}

// On an RNIC, the end that accepts sends nothing before it has received something, and the end that
// dials begins with a message.
func TestMachineWaitsForMessage(t *testing.T) {
	dials, accepts := newEnds(t)
	if n := accepts.write([]byte("early")); n != 0 {
		t.Errorf("%d bytes went out before anything was received", n)
	}
	settle(dials, accepts)
	if n := accepts.write([]byte("hello")); n != 5 {
		t.Errorf("%d bytes went out behind a message, want 5", n)
	}
	settle(dials, accepts)
	dials.wantRead("hello", nil)
}

// A machine never posts more than the peer has receives for, in whatever order things happen, and
// no byte is lost.
func TestMachineStream(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := newEnds(t)
		ends := []*end{a, b}
		var sent, got [2][]byte
		for range 3000 {
			i := r.IntN(2)
			e := ends[i]
			switch r.IntN(5) {
			case 0:
				e.post()
			case 1:
				e.complete()
			case 2:
				e.arrive()
			case 3:
				p := make([]byte, r.IntN(1200))
				for k := range p {
					p[k] = byte(r.Uint32())
				}
				sent[i] = append(sent[i], p[:e.write(p)]...)
			case 4:
				p := make([]byte, r.IntN(700))
				n, _, err := e.m.read(p, nil)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				got[1-i] = append(got[1-i], p[:n]...)
			}
		}
		for _, e := range ends {
			e.m.closeWrite(net.ErrClosed)
		}
		for i, e := range ends {
			for err := error(nil); err == nil; {
				settle(ends...)
				p := make([]byte, 700)
				var n int
				var ok bool
				n, ok, err = e.m.read(p, nil)
				if !ok {
					t.Fatalf("seed %d: end %d stands still", seed, i)
				}
				got[1-i] = append(got[1-i], p[:n]...)
			}
		}
		for i := range sent {
			if len(sent[i]) == 0 || !bytes.Equal(sent[i], got[i]) {
				t.Fatalf("seed %d: %d bytes sent, %d received, or others", seed, len(sent[i]), len(got[i]))
			}
		}
	}
}

// Short messages that are not read yet share a buffer, so the peer gets its credits back.
func TestMachineJoinsShortMessages(t *testing.T) {
	dials, accepts := newEnds(t)
	want := ""
	for i := range 20 {
		c := string(rune('a' + i))
		if n := dials.write([]byte(c)); n != 1 {
			t.Fatalf("Write %d waits", i)
		}
		want += c
		settle(dials, accepts)
	}
	accepts.wantRead(want, nil)
}

// Close is over when the peer has everything and has ended too.
func TestMachineClose(t *testing.T) {
	dials, accepts := newEnds(t)
	dials.write([]byte("bye"))
	if dials.m.close() {
		t.Fatal("Close has lost data")
	}
	for dials.posted[0].op != postFlush {
		for dials.post() {
		}
		dials.complete()
		for dials.post() {
		}
	}
	if dials.complete() || dials.m.life != ending {
		t.Errorf("%v while the peer has not got everything", dials.m.life)
	}
	settle(dials, accepts)
	if dials.m.life != lingering {
		t.Errorf("%v when the peer has everything, want lingering", dials.m.life)
	}
	accepts.wantRead("bye", nil)
	accepts.wantRead("", io.EOF)
	if accepts.m.close() {
		t.Error("the other Close has lost data")
	}
	settle(dials, accepts)
	for _, e := range []*end{dials, accepts} {
		if e.m.life != over || e.m.reason != net.ErrClosed { //nolint:errorlint // as the machine has it
			t.Errorf("%v, %v at the end, want over", e.m.life, e.m.reason)
		}
	}
}

// Data that is unread at Close, or that CloseRead has discarded, is lost, and Close ends the
// connection without an orderly end.
func TestMachineCloseLosesData(t *testing.T) {
	for _, early := range []bool{false, true} {
		dials, accepts := newEnds(t)
		if early {
			accepts.m.closeRead()
		}
		dials.write([]byte("data"))
		settle(dials, accepts)
		if !accepts.m.close() || accepts.m.life != over {
			t.Errorf("CloseRead before: %v: Close has lost nothing", early)
		}
	}
}

// A message that breaks the rules of the byte stream ends the connection.
func TestMachineHostilePeer(t *testing.T) {
	for _, tt := range []struct {
		desc     string
		messages []string
	}{
		{"short", []string{"\x00\x00"}},
		{"unknown", []string{"\x09\x00\x00\x00"}},
		{"a grant without an offer", []string{"\x02\x00\x00\x001234567812341234"}},
		{"a done without a grant", []string{"\x01\x00\x00\x00\x00\x00\x10\x00", "\x03\x00\x00\x00\x00\x00\x00\x01"}},
		{"too many credits", []string{"\x00\x00\x00\x09"}},
		{"more messages than credits", slices.Repeat([]string{"\x00\x00\x00\x00" + string(make([]byte, 508))}, 9)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			_, e := newEnds(t)
			for e.post() {
			}
			for i, b := range tt.messages {
				if e.m.life == over {
					t.Fatalf("over before message %d: %v", i, e.m.reason)
				}
				e.receive([]byte(b))
			}
			if !errors.Is(e.m.reason, bytestream.ErrStream) {
				t.Errorf("reason %v, want ErrStream", e.m.reason)
			}
		})
	}
}

// The reason why a connection has ended depends on what had arrived before the disconnect.
func TestMachineDisconnected(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		desc  string
		do    func(e *end)
		err   error
		read  error
		write error
	}{
		{"in the middle", func(*end) {}, rnic.ErrDisconnected, syscall.ECONNRESET, syscall.ECONNRESET},
		{"behind the end", func(e *end) { e.receive([]byte("\x00\x01\x00\x00")) }, rnic.ErrDisconnected, io.EOF, syscall.EPIPE},
		{"the device fails", func(*end) {}, boom, boom, boom},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			_, e := newEnds(t)
			for e.post() {
			}
			tt.do(e)
			e.m.disconnected(tt.err)
			e.wantRead("", tt.read)
			if err := e.m.mayWrite(); !errors.Is(err, tt.write) {
				t.Errorf("mayWrite = %v, want %v", err, tt.write)
			}
			if e.post() {
				t.Error("something is posted after the end")
			}
		})
	}
}

// If a kill discards data, the next Read returns the reason of the kill, even if the end of the
// stream has arrived behind the data.
func TestMachineKilled(t *testing.T) {
	boom := errors.New("boom")
	for _, unread := range []bool{true, false} {
		dials, accepts := newEnds(t)
		dials.write([]byte("data"))
		dials.m.closeWrite(syscall.EPIPE)
		settle(dials, accepts)
		want := boom
		if !unread {
			accepts.wantRead("data", nil)
			want = io.EOF
		}
		accepts.m.kill(boom)
		accepts.wantRead("", want)
	}
}

// In message mode, too, a Read returns the reason why the connection has ended, and not the error
// of the queue pair, which ends after it.
func TestMachineMessagesFail(t *testing.T) {
	boom := errors.New("boom")
	m := newMachine(small)
	m.begin(peerConfig{messages: true})
	m.end(boom)
	m.disconnected(rnic.ErrDisconnected)
	if _, _, err := m.read(make([]byte, 1), nil); err != boom { //nolint:errorlint // as end has got it
		t.Errorf("Read returns %v, want %v", err, boom)
	}
}

// A work request that has failed ends the connection. One that was flushed does not: the reason
// follows it.
func TestMachineFailedWork(t *testing.T) {
	for _, f := range []rdmap.Status{rdmap.StatusGeneral, rdmap.StatusRemoteAccess, rdmap.StatusFlushed} {
		_, e := newEnds(t)
		for e.post() {
		}
		flushed := f == rdmap.StatusFlushed
		e.m.completed(&rnic.Completion{ID: 0, Op: rnic.OpReceive, Err: failure(f)}, e.memory)
		if (e.m.life == over) == flushed {
			t.Errorf("flushed %v: %v", flushed, e.m.life)
		}
	}
}
