package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
)

// quiet is message mode, in which a script's Sends are delivered one by one. The others request
// what their Reply contains.
var (
	quiet      = &extsock.Config{Messages: true, RecvDepth: 2, RecvSize: 128}
	first      = &extsock.Config{Messages: true, RecvDepth: 2, RecvSize: 128, Revision: 1}
	noEnhanced = &extsock.Config{Messages: true, RecvDepth: 2, RecvSize: 128, NoEnhanced: true}
)

// A startupOutcome is the observable result of a session.
type startupOutcome struct {
	err     string // of startup
	private string // of the peer
	ird     int
	ord     int
	message string
	end     string
	closed  bool // the stream
}

// text returns the text of an error, or "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// respond runs a session against a script that begins with a Request.
func respond(s *script) (o startupOutcome) {
	c := extsock.NewConn(s, false, quiet)
	defer c.Close()
	r, err := c.ReceiveRequest(context.Background())
	if err == nil {
		o.private, o.ird, o.ord = string(r.PrivateData), r.IRD, r.ORD
		err = r.Accept(context.Background(), nil)
	}
	o.after(c, s, err)
	return o
}

// initiate runs a session against a script that answers with a Reply.
func initiate(s *script) startupOutcome { return initiateAs(s, quiet) }

func initiateAs(s *script, cfg *extsock.Config) (o startupOutcome) {
	c := extsock.NewConn(s, true, cfg)
	defer c.Close()
	err := c.EnableDDP(context.Background(), nil)
	if err == nil {
		state := c.ConnectionState()
		o.private = string(state.PeerPrivateData)
		o.ird, o.ord = state.IRD, state.ORD
	}
	o.after(c, s, err)
	return o
}

// after runs the rest of a session, which is the same for both roles.
func (o *startupOutcome) after(c *extsock.Conn, s *script, err error) {
	o.err, o.closed = text(err), s.isClosed()
	if err != nil {
		return
	}
	var b [128]byte
	n, err := c.Read(b[:])
	o.message = string(b[:n])
	if err == nil {
		_, err = c.Read(b[:])
	}
	o.end = text(err)
}

// frame returns a Request or Reply of length octets.
func frame(reply bool, length int) mpa.Frame {
	n := length - mpa.FrameHeaderLen
	f := mpa.Frame{Reply: reply, CRC: true, Revision: 1}
	if f.Enhanced = n >= 4; f.Enhanced {
		f.Revision = 2
		f.IRD, f.ORD = 3, 4
		n -= 4
	}
	f.PrivateData = bytes.Repeat([]byte{'p'}, n)
	return f
}

// TestStartupEverySplit: a Request or Reply of 20 to 532 octets that arrives in two pieces, split
// at any octet, or one octet at a time, gives the same result as the whole frame. So does a Reply
// that arrives together with the first FPDU, or with a part of it. A Request together with an FPDU
// is a clean error (RFC 5044 §7.1.2). In full there are 513 lengths and 141,075 splits of each
// frame.
func TestStartupEverySplit(t *testing.T) {
	hello := (&peer{tx: mpa.NewSender(mpa.Agreement{CRC: true})}).fpdus((&peer{}).aSend([]byte("hello")...))
	sessions := 0
	for _, role := range []struct {
		desc string
		run  func(*script) startupOutcome
		make func(frame [][]byte) *script
	}{
		{"Request", respond, func(f [][]byte) *script { return newScript(f, [][]byte{hello}) }},
		{"Reply", initiate, func(f [][]byte) *script { return newScript(nil, append(f, hello)) }},
		{"Reply and FPDU", initiate, func(f [][]byte) *script { return newScript(nil, f) }},
	} {
		glued := role.desc == "Reply and FPDU"
		lengths := []int{20, 21, 24, 25, 532}
		if testmode.Full {
			lengths = lengths[:0]
			for n := 20; n <= 532; n++ {
				lengths = append(lengths, n)
			}
		}
		if glued { // here only the splits of the FPDU are new
			lengths = []int{20, 23, 24, 40, 532}
		}
		for _, length := range lengths {
			b := frame(role.desc != "Request", length).AppendTo(nil)
			if len(b) != length {
				t.Fatalf("a frame of %d octets, want %d", len(b), length)
			}
			if glued {
				b = append(b, hello...)
			}
			run := role.run
			if role.desc != "Request" && length < 24 {
				run = func(s *script) startupOutcome { return initiateAs(s, first) }
			}
			want := run(role.make([][]byte{b}))
			if want.err != "" || want.message != "hello" || want.end != io.EOF.Error() {
				t.Fatalf("%s of %d octets, whole: %+v", role.desc, length, want)
			}
			inParallel(len(b), func(at int) {
				pieces := split(b, at)
				if at == 0 {
					pieces = octets(b)
				}
				if got := run(role.make(pieces)); got != want {
					t.Errorf("%s of %d octets, split at %d: %+v, want %+v", role.desc, length, at, got, want)
				}
			})
			sessions += len(b) + 1
		}
	}
	for length := 20; length <= 532; length += 64 {
		b := frame(false, length).AppendTo(nil)
		s := newScript([][]byte{b, hello}, nil)
		s.pends = true
		s.finish()
		if o := respond(s); o.err == "" || !o.closed {
			t.Errorf("a Request and an FPDU together: %+v", o)
		}
	}
	t.Logf("%d sessions with the same result as the whole frame", sessions)
}

// malformed returns invalid frames, and for each the maximum number of octets that may be read.
func malformed(reply bool) (frames [][]byte, most []int) {
	good := frame(reply, 24).AppendTo(nil)
	add := func(n int, change func(b []byte) []byte) {
		frames, most = append(frames, change(bytes.Clone(good))), append(most, n)
	}
	for i := range 16 { // the key
		for v := 1; v < 256; v++ {
			add(20, func(b []byte) []byte { b[i] ^= byte(v); return b })
		}
	}
	for rev := range 256 {
		if rev != 1 && rev != 2 {
			add(24, func(b []byte) []byte { b[17] = byte(rev); return b })
		}
	}
	step := testmode.Count(1, 97)
	for n := 513; n < 1<<16; n += step { // PD_Length
		add(20, func(b []byte) []byte { b[18], b[19] = byte(n>>8), byte(n); return b })
	}
	for n := range 4 { // enhanced, without room for the enhanced data
		add(24, func(b []byte) []byte { b[16], b[18], b[19] = b[16]|0x10, 0, byte(n); return b[:20+n] })
	}
	for n := 5; n <= 512; n++ { // the stream ends before PD_Length octets
		add(24, func(b []byte) []byte { b[18], b[19] = byte(n>>8), byte(n); return b })
	}
	for n := range 24 { // and anywhere
		add(24, func(b []byte) []byte { return b[:n] })
	}
	return frames, most
}

// TestStartupMalformedFrames: each ends with an *mpa.Error or an error that says that it is not
// MPA, and the connection is closed. If PD_Length is too large, nothing beyond the 20 octets of the
// header is read, and no memory is allocated for the announced octets. In full there are all 65,023
// lengths above 512, all 16·255 keys and all revisions.
//
// MPA-5044-7.1.1-3, MPA-5044-7.1.1-5, MPA-5044-7.1.1-25, MPA-5044-7.1.1-29, MPA-5044-7.1.2-4,
// MPA-5044-7.1.2-13, MPA-5044-7.1.2-17
func TestStartupMalformedFrames(t *testing.T) {
	for _, reply := range []bool{false, true} {
		frames, most := malformed(reply)
		run := respond
		if reply {
			run = initiate
		}
		inParallel(len(frames), func(i int) {
			b := frames[i]
			s := newScript(nil, [][]byte{b})
			if !reply {
				s = newScript([][]byte{b}, nil)
				s.finish()
			}
			o := run(s)
			if o.err == "" || !o.closed || s.given() > most[i] {
				t.Errorf("reply %t, frame %x: %+v, %d octets read, want an error and at most %d", reply, b, o, s.given(), most[i])
			}
			if !reply && len(s.written) > 0 {
				t.Errorf("frame %x was answered with %x", b, s.written)
			}
		})
		t.Logf("%d malformed frames, reply %t, end cleanly", len(frames), reply)
	}
}

// TestStartupErrorsAreTyped: a program can identify each class of error.
func TestStartupErrorsAreTyped(t *testing.T) {
	good := frame(false, 24).AppendTo(nil)
	change := func(i int, v byte) []byte { b := bytes.Clone(good); b[i] = v; return b }
	for _, tt := range []struct {
		desc string
		b    []byte
		is   error
		says string
	}{
		{"key", change(3, 'x'), extsock.ErrNotMPA, ""},
		{"the same role", frame(true, 24).AppendTo(nil), mpa.ErrSameRole, ""},
		{"revision 0", change(17, 0), nil, ""},
		{"revision 255", change(17, 255), nil, ""},
		{"PD_Length", change(18, 255), nil, ""},
		{"cut", good[:21], nil, noRequest},
		{"nothing", nil, nil, noRequest},
	} {
		s := newScript(split(tt.b), nil)
		s.finish()
		c := extsock.NewConn(s, false, quiet)
		err := c.EnableDDP(t.Context(), nil)
		var e *mpa.Error
		if !errors.As(err, &e) || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an *mpa.Error, %v and %q", tt.desc, err, tt.is, tt.says)
		}
		if tt.says == noRequest && e.Code != mpa.CodeClosed {
			t.Errorf("%s: %v, want CodeClosed", tt.desc, e.Code)
		}
		c.Close()
	}
}

// TestStartupBitsThatDoNotMatter: all 256 values of the octet of flags, in both frames and
// revisions, lead to startup or a rejection. Reserved bits are ignored, and the M and C bits are an
// offer.
//
// MPA-5044-7.1.1-19, MPA-5044-7.1.1-22
func TestStartupBitsThatDoNotMatter(t *testing.T) {
	for _, reply := range []bool{false, true} {
		for rev := byte(1); rev <= 2; rev++ {
			for flags := range 256 {
				b := frame(reply, 24).AppendTo(nil)
				b[16], b[17] = byte(flags), rev
				var s *script
				var o startupOutcome
				switch {
				case !reply:
					s = newScript([][]byte{b}, nil)
					o = respond(s)
				case rev == 1:
					s = newScript(nil, [][]byte{b})
					o = initiateAs(s, first)
				case flags&0x10 == 0:
					s = newScript(nil, [][]byte{b})
					o = initiateAs(s, noEnhanced)
				default:
					s = newScript(nil, [][]byte{b})
					o = initiate(s)
				}
				rejects := reply && flags&0x20 != 0
				if (o.err != "") != rejects || rejects && o.closed {
					t.Errorf("reply %t, revision %d, flags %08b: %+v", reply, rev, flags, o)
				}
			}
		}
	}
}

// TestStartupNothingForAnnouncedOctets: announced octets take no memory: a startup that announces
// 65,535 octets allocates as much as one that announces 513.
func TestStartupNothingForAnnouncedOctets(t *testing.T) {
	cost := func(n int) int64 {
		const times = 500
		before := allocated()
		for range times {
			b := frame(false, 24).AppendTo(nil)
			b[18], b[19] = byte(n>>8), byte(n)
			s := newScript([][]byte{b}, nil)
			s.finish()
			respond(s)
		}
		return (allocated() - before) / times
	}
	cost(513)
	short, long := cost(513), cost(65535)
	t.Logf("%d octets for an announced 513, %d for 65535", short, long)
	if !testmode.Race && long > short+1024 {
		t.Errorf("an announced length takes memory: %d octets for 513, %d for 65535", short, long)
	}
}

// TestStartupDepthsAreBounded: whatever IRD and ORD a peer states, the depths in use are never
// above this end's own limits, 0x3FFF is not a depth, and the memory of a connection does not
// depend on the stated depths (± 1 KiB).
//
// MPA-6581-9.1-9, MPA-6581-9.1-13, MPA-6581-9.1-19, MPA-6581-9.1-21
func TestStartupDepthsAreBounded(t *testing.T) {
	stated := []int{0, 1, 2, 15, 16, 17, 255, 0x3FFE, 0x3FFF}
	for _, own := range []int{-1, 1, 16, 100} {
		limit := max(own, 0)
		cfg := &extsock.Config{Messages: true, IRD: own, ORD: own, RecvDepth: 2, RecvSize: 128}
		for _, reply := range []bool{false, true} {
			for _, ird := range stated {
				for _, ord := range stated {
					f := mpa.Frame{Reply: reply, CRC: true, Revision: 2, Enhanced: true, IRD: uint16(ird), ORD: uint16(ord)}
					s := newScript([][]byte{f.AppendTo(nil)}, nil)
					if reply {
						s = newScript(nil, [][]byte{f.AppendTo(nil)})
					}
					c := extsock.NewConn(s, reply, cfg)
					err := c.EnableDDP(t.Context(), nil)
					state := c.ConnectionState()
					i, o := state.IRD, state.ORD
					if i > limit || o > limit || err == nil && ird < 0x3FFF && o > ird {
						t.Errorf("own %d, peer's IRD %d and ORD %d, reply %t: IRD %d, ORD %d, %v", own, ird, ord, reply, i, o, err)
					}
					if err == nil && (ird == 0x3FFF && o != limit || ord == 0x3FFF && i != limit) {
						t.Errorf("own %d, peer's IRD %d and ORD %d, reply %t: IRD %d, ORD %d, want them unchanged", own, ird, ord, reply, i, o)
					}
					c.Close()
				}
			}
		}
	}
	cost := func(depth uint16) int64 {
		const n = 1000 // so that the leftovers of a collection do not matter
		var conns []*extsock.Conn
		goroutines := runtime.NumGoroutine()
		before := onHeap()
		for range n {
			f := mpa.Frame{CRC: true, Revision: 2, Enhanced: true, IRD: depth, ORD: depth}
			s := newScript([][]byte{f.AppendTo(nil)}, nil)
			c := extsock.NewConn(s, false, &extsock.Config{Messages: true})
			if err := c.EnableDDP(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		waitFor(t, "the connections are over", func() bool {
			for _, c := range conns {
				if _, err := c.Read(nil); err == nil {
					return false
				}
			}
			return true
		})
		settled(t, goroutines)
		after := onHeap()
		for _, c := range conns {
			c.Close()
		}
		settled(t, goroutines)
		return (after - before) / n
	}
	cost(16)
	base := cost(16)
	for _, depth := range []uint16{17, 0x3FFE, 0x3FFF} {
		got := cost(depth)
		t.Logf("%d octets per connection for a stated depth of 16, %d for %d", base, got, depth)
		if diff := got - base; !testmode.Race && (diff > 1024 || diff < -1024) {
			t.Errorf("a stated depth of %d takes %d octets, of 16 %d", depth, got, base)
		}
	}
}
