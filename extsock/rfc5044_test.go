package extsock_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// Requirements of RFC 5044 §7.1, startup, that can be tested on a connection: what is read and
// written, when, and what is closed. The test writes and reads the octets of the far end. All but
// the first test are bubbles, so an hour without an octet takes no time.

// The keys of RFC 5044 §7.1.1 in hexadecimal.
const (
	requestKey = "4D504120494420526571204672616D65"
	replyKey   = "4D504120494420526570204672616D65"
)

// A farEnd is the other end of a Conn's connection.
type farEnd struct {
	t *testing.T
	toe.Stream
}

// against makes a Conn and its far end.
func against(t *testing.T, initiator bool, cfg extsock.Config) (*extsock.Conn, farEnd) {
	t.Helper()
	near, far := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	return extsock.NewConn(near, initiator, &cfg), farEnd{t, far}
}

// plainInitiator is a Config whose Request is 20 octets long.
var plainInitiator = extsock.Config{Revision: 1, NoCapabilities: true, Messages: true}

// enable switches c in the background.
func enable(c *extsock.Conn, privateData string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.EnableDDP(context.Background(), []byte(privateData)) }()
	return done
}

// say writes the octets.
func (f farEnd) say(octets string) {
	f.t.Helper()
	if _, err := f.Write(octetsOf(octets)); err != nil {
		f.t.Fatal(err)
	}
}

// hear reads octets and checks that they are these.
func (f farEnd) hear(octets string) {
	f.t.Helper()
	want := octetsOf(octets)
	got := make([]byte, len(want))
	f.SetReadDeadline(time.Now().Add(time.Hour))
	defer f.SetReadDeadline(time.Time{})
	if n, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, want) {
		f.t.Fatalf("got  %x, %v\nwant %x", got[:n], err, want)
	}
}

// hearNothing checks that nothing comes for an hour.
func (f farEnd) hearNothing() {
	f.t.Helper()
	f.SetReadDeadline(time.Now().Add(time.Hour))
	defer f.SetReadDeadline(time.Time{})
	var b [100]byte
	if n, err := f.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		f.t.Fatalf("got %x, %v, want silence", b[:n], err)
	}
}

// hearEnd checks that the connection is closed, by a FIN or a reset, now and without an octet
// before.
func (f farEnd) hearEnd() {
	f.t.Helper()
	begin := time.Now()
	f.SetReadDeadline(begin.Add(time.Hour))
	defer f.SetReadDeadline(time.Time{})
	var b [100]byte
	if n, err := f.Read(b[:]); n > 0 || err != io.EOF && !errors.Is(err, syscall.ECONNRESET) || time.Since(begin) > 0 {
		f.t.Errorf("got %x, %v after %v, want the end at once", b[:n], err, time.Since(begin))
	}
}

// close closes both ends and lets the bubble end.
func (f farEnd) close(c *extsock.Conn) {
	f.Close()
	c.Close()
	settle()
}

func octetsOf(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// "The Initiator is the side that sends first in the MPA startup sequence" "This is quite arbitrary
// and is NOT related to the TCP startup" "The ULP is responsible for determining which side is
// Initiator or Responder." "DDP's ULP MAY require DDP on MPA startup immediately after TCP
// connection setup."
// MPA-5044-2-3, MPA-5044-7.1-3, MPA-5044-7.1-7
func TestRFC5044_7_1_AnyEndIsTheInitiator(t *testing.T) {
	for _, desc := range []string{"who dialed", "who accepted"} {
		t.Run(desc, func(t *testing.T) {
			i, r := kernelStreams(t)
			if desc == "who accepted" {
				i, r = r, i
			}
			seen := new(recorder)
			ci, cr := switched(t, i, r, side{cfg: extsock.Config{Tap: seen.tap}}, side{})
			seen.mu.Lock()
			if !bytes.HasPrefix(seen.sent, octetsOf(requestKey)) || !bytes.HasPrefix(seen.received, octetsOf(replyKey)) {
				t.Errorf("sent %.16q, received %.16q", seen.sent, seen.received)
			}
			seen.mu.Unlock()
			for _, way := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
				p := make([]byte, 4)
				if _, err := way[0].Write([]byte("data")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(way[1], p); string(p) != "data" || err != nil {
					t.Errorf("%q, %v", p, err)
				}
			}
		})
	}
}

// "The protocol includes a method of detecting these active/active startup attempts so that they
// can be rejected and an error reported." "MPA implementations MUST use the difference between the
// MPA Request Frame and the MPA Reply Frame to check for incorrect "Initiator/Initiator" startups."
// MPA-5044-7.1-9, MPA-5044-7.1.2-21
func TestRFC5044_7_1_TwoInitiators(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// If one Request arrives before the other end begins, that end gets ErrBusy instead.
		wire := simtoe.Config{Seed: 1, Delay: time.Second}
		a, b := simtoe.Pair(wire, wire)
		begin := time.Now()
		conns := []*extsock.Conn{extsock.NewConn(a, true, nil), extsock.NewConn(b, true, nil)}
		results := []<-chan error{enable(conns[0], "a"), enable(conns[1], "b")}
		for i, c := range conns {
			if err := <-results[i]; !errors.Is(err, mpa.ErrSameRole) || time.Since(begin) > time.Second {
				t.Errorf("EnableDDP = %v after %v, want ErrSameRole as soon as the Request is there", err, time.Since(begin))
			}
			if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write = %v, want a closed connection", err)
			}
			c.Close()
		}
	})
}

// "the ULP is responsible for interpreting that data, and then placing MPA into Full Operation."
// "When MPA is started in the Responder mode, the MPA implementation MUST wait until an MPA Request
// Frame is received and validated before entering Full MPA/DDP Operation."
// MPA-5044-7.1-8, MPA-5044-7.1.2-3, MPA-5044-7.1.2-25
func TestRFC5044_7_1_2_ResponderWaitsForRequestAndULP(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, far := against(t, false, extsock.Config{HandshakeTimeout: 100 * time.Hour})
		requests := make(chan *extsock.Request, 1)
		go func() {
			req, err := c.ReceiveRequest(t.Context())
			if err != nil {
				t.Error(err)
			}
			requests <- req
		}()
		request := octetsOf(requestKey + "40 01 0005 68656c6c6f")
		for i := range request {
			far.hearNothing()
			select {
			case <-requests:
				t.Fatalf("the Request is there after %d of %d octets", i, len(request))
			default:
			}
			far.Write(request[i : i+1])
		}
		req := <-requests
		if string(req.PrivateData) != "hello" || modeOf(c) != "TCP" {
			t.Errorf("Private Data %q, mode %v", req.PrivateData, modeOf(c))
		}
		if err := c.Post(&rdmap.WorkRequest{}); !errors.Is(err, extsock.ErrMode) {
			t.Errorf("Post before Full Operation = %v", err)
		}
		far.hearNothing() // the program thinks about it
		if err := req.Accept(t.Context(), nil); err != nil || modeOf(c) != "DDP" {
			t.Errorf("Accept = %v, mode %v", err, modeOf(c))
		}
		far.hear(replyKey + "40 01 0000")
		far.close(c)
	})
}

// "When MPA is started in the Initiator mode, the MPA implementation MUST send a valid MPA Request
// Frame. The MPA Request Frame MAY include ULP-supplied Private Data."
// MPA-5044-7.1.2-1, MPA-5044-7.1.2-2, MPA-5044-7.1.1-1, MPA-5044-7.1.1-18
func TestRFC5044_7_1_2_InitiatorBeginsWithARequest(t *testing.T) {
	tests := []struct {
		desc    string
		cfg     extsock.Config
		private string
		want    string
	}{
		{"revision 1", extsock.Config{Revision: 1}, "", "40 01 0000"},
		{"revision 1, with all there is", extsock.Config{Revision: 1, Markers: true, NoCRC: true}, "hello", "80 01 0005 68656c6c6f"},
		{"revision 2, plain", extsock.Config{NoEnhanced: true}, "hello", "40 02 0005 68656c6c6f"},
		{"enhanced", extsock.Config{IRD: 4, ORD: 5}, "hello", "50 02 0009 00040005 68656c6c6f"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				tt.cfg.NoCapabilities = true
				c, far := against(t, true, tt.cfg)
				done := enable(c, tt.private)
				far.hear(requestKey + tt.want)
				far.close(c)
				<-done
			})
		})
	}
}

// "MPA Initiator mode implementations MUST receive and validate an MPA Reply Frame." "sending FPDUs
// before this occurs is not possible." "If the MPA Reply Frame is properly formatted [...] the
// implementation SHOULD enter Full MPA/DDP Operation Phase; interpreting any received data as FPDUs
// and sending DDP ULPDUs as FPDUs."
// MPA-5044-7.1.2-11, MPA-5044-7.1.2-12, MPA-5044-7.1.2-15, MPA-5044-7.1.2-25, MPA-5044-7.1-6
func TestRFC5044_7_1_2_NothingBetweenRequestAndReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := plainInitiator
		cfg.HandshakeTimeout = 100 * time.Hour
		c, far := against(t, true, cfg)
		done := enable(c, "")
		synctest.Wait()
		written := make(chan error, 1)
		go func() { _, err := c.Write([]byte("data")); written <- err }()
		far.hear(requestKey + "40 01 0000")
		reply := octetsOf(replyKey + "40 01 0003 796573")
		for i := range reply {
			far.hearNothing()
			select {
			case err := <-done:
				t.Fatalf("EnableDDP = %v after %d of %d octets of the Reply", err, i, len(reply))
			default:
			}
			far.Write(reply[i : i+1])
		}
		if err := errors.Join(<-done, <-written); err != nil {
			t.Fatal(err)
		}
		far.hear("0016 4143 00000000 00000000 00000001 00000000 64617461")
		io.ReadFull(far, make([]byte, 4)) // the CRC
		peer := newRawPeer(t, far, mpa.Agreement{CRC: true})
		peer.segment(1, 0, true, []byte("back")...)
		p := make([]byte, 10)
		if n, err := c.Read(p); string(p[:n]) != "back" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		far.close(c)
	})
}

// "If the MPA Request Frame is improperly formatted, the implementation MUST close the TCP
// connection and exit MPA." The same of the Reply. "If the initial TCP data was not a properly
// formatted MPA Request Frame, MPA will close or reset the TCP connection immediately." Error 4:
// "the TCP connection MUST be immediately closed. DDP and other ULPs should treat this similar to
// code 1". MPA-5044-7.1.2-4, MPA-5044-7.1.2-13, MPA-5044-7.1.3-1, MPA-5044-8-4, MPA-5044-8-9,
// MPA-5044-8-10, MPA-5044-7.1.1-3, MPA-5044-7.1.1-5, MPA-5044-7.1.1-25, MPA-5044-7.1.1-29,
// MPA-5044-7.1.2-17, MPA-5044-7.1.2-26, MPA-5044-C.1-1, MPA-5044-C.2.1-1, MPA-5044-C.2.2-1
func TestRFC5044_7_1_2_ImproperFrame(t *testing.T) {
	for _, initiator := range []bool{false, true} {
		key := octetsOf(requestKey)
		if initiator {
			key = octetsOf(replyKey)
		}
		frames := map[string][]byte{
			"HTTP":             []byte("GET / HTTP/1.1\r\n"),
			"revision 0":       append(bytes.Clone(key), 0xc0, 0, 0, 0),
			"revision 3":       append(bytes.Clone(key), 0x40, 3, 0, 0),
			"revision 255":     append(bytes.Clone(key), 0x40, 255, 0, 0),
			"PD_Length 513":    append(bytes.Clone(key), 0x40, 1, 2, 1),
			"PD_Length 65535":  append(bytes.Clone(key), 0x40, 1, 255, 255),
			"S, and no room":   append(bytes.Clone(key), 0x50, 2, 0, 3, 0, 0, 0),
			"S, and no octets": append(bytes.Clone(key), 0x50, 2, 0, 0),
		}
		for i := range key { // told at the octet that is wrong
			bad := bytes.Clone(key[:i+1])
			bad[i] ^= 1
			frames["key "+string(bad)] = bad
		}
		for desc, frame := range frames {
			bubble(t, func(t *testing.T) {
				cfg := extsock.Config{}
				if initiator {
					cfg = plainInitiator
				}
				c, far := against(t, initiator, cfg)
				done := enable(c, "")
				if initiator {
					far.hear(requestKey + "40 01 0000")
				}
				far.Write(frame)
				far.hearEnd()
				var e *mpa.Error
				if err := <-done; !errors.As(err, &e) || e.Code != mpa.CodeFrame {
					t.Errorf("%s, as Initiator %v: EnableDDP = %v, want MPA error code 4", desc, initiator, err)
				}
				wantDeadConn(t, c)
				far.close(c)
			})
		}
		bubble(t, func(t *testing.T) { // less than PD_Length says
			c, far := against(t, initiator, plainInitiator)
			done := enable(c, "")
			if initiator {
				far.hear(requestKey + "40 01 0000")
			}
			far.Write(append(bytes.Clone(key), 0x40, 1, 0, 10, 1, 2, 3, 4))
			far.CloseWrite()
			far.hearEnd()
			var e *mpa.Error
			if err := <-done; !errors.As(err, &e) || e.Code != mpa.CodeClosed {
				t.Errorf("FIN inside the Private Data, as Initiator %v: EnableDDP = %v, want MPA error code 1", initiator, err)
			}
			wantDeadConn(t, c)
			far.close(c)
		})
	}
}

// wantDeadConn checks that nothing can be done with c.
func wantDeadConn(t *testing.T, c *extsock.Conn) {
	t.Helper()
	_, read := c.Read(make([]byte, 1))
	_, write := c.Write([]byte("x"))
	for _, err := range []error{read, write, c.Post(&rdmap.WorkRequest{}), c.EnableDDP(t.Context(), nil)} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("use of the connection: %v, want net.ErrClosed", err)
		}
	}
}
