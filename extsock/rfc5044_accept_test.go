package extsock_test

import (
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// Requirements of RFC 5044 §7.1.2 for a Request and a Reply that are properly formatted.

// "the implementation SHOULD return an MPA Reply Frame with the Rejected Connection bit set to '1';
// the MPA Reply Frame MAY include ULP-supplied Private Data; the implementation MUST exit MPA,
// leaving the TCP connection open." "if the Rejected Connection bit is set to '1', the
// implementation MUST exit MPA, leaving the TCP connection open." (That MPA closes TCP then is only
// in an example, §7.1.4.2.) MPA-5044-7.1.1-20, MPA-5044-7.1.2-5, MPA-5044-7.1.2-6,
// MPA-5044-7.1.2-7, MPA-5044-7.1.2-14, MPA-5044-7.1.2-19, MPA-5044-7.1.4.2-1
func TestRFC5044_7_1_2_RejectionLeavesTCPOpen(t *testing.T) {
	afterwards := func(c *extsock.Conn, far farEnd) {
		t.Helper()
		if modeOf(c) != "TCP" {
			t.Errorf("mode %v", modeOf(c))
		}
		far.hearNothing()
		if _, err := c.Write([]byte("plain")); err != nil {
			t.Error(err)
		}
		far.hear(hex.EncodeToString([]byte("plain")))
		far.say(hex.EncodeToString([]byte("octets")))
		p := make([]byte, 6)
		if _, err := io.ReadFull(c, p); string(p) != "octets" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
		far.close(c)
	}
	bubble(t, func(t *testing.T) {
		c, far := against(t, false, extsock.Config{})
		far.say(requestKey + "40 01 0000")
		req, err := c.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := req.Reject(t.Context(), []byte("no")); err != nil {
			t.Fatal(err)
		}
		far.hear(replyKey + "60 01 0002 6e6f")
		afterwards(c, far)
	})
	bubble(t, func(t *testing.T) {
		c, far := against(t, true, plainInitiator)
		done := enable(c, "")
		far.hear(requestKey + "40 01 0000")
		far.say(replyKey + "60 01 0002 6e6f")
		var e *mpa.RejectError
		if err := <-done; !errors.As(err, &e) || string(e.PrivateData) != "no" || e.Enhanced {
			t.Errorf("EnableDDP = %v, want a rejection", err)
		}
		afterwards(c, far)
	})
}

// An afterWrite is a Stream that does something once, between a Write of startup and its return.
type afterWrite struct {
	toe.Stream
	do func()
}

func (s *afterWrite) Write(p []byte) (int, error) {
	n, err := s.Stream.Write(p)
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return n, err
}

// "A DDP endpoint MUST be "bound" to the MPA connection at entry to this phase." "and the Responder
// SHOULD prepare to interpret any data received as FPDUs and pass any received ULPDUs to DDP": the
// first FPDU is here before the call that writes the Reply has come back, with a buffer posted
// before that.
// MPA-5044-7.1-6, MPA-5044-7.1.2-10
func TestRFC5044_7_1_2_ReadyBeforeTheReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, s := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		far := farEnd{t, s}
		stream := &afterWrite{Stream: near}
		c := extsock.NewConn(stream, false, &extsock.Config{})
		buf := make([]byte, 16)
		if err := c.PostRecv(rdmap.RecvRequest{ID: 7, Buf: buf}); err != nil {
			t.Fatal(err)
		}
		stream.do = func() {
			far.hear(replyKey + "40 01 0000")
			peer := newRawPeer(t, far, mpa.Agreement{CRC: true})
			peer.segment(1, 0, true, []byte("at once")...)
		}
		far.say(requestKey + "40 01 0000")
		if err := c.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if done := complete(t, c.RecvCQ()); done.ID != 7 || string(buf[:done.Len]) != "at once" {
			t.Errorf("%v, %q", done, buf)
		}
		far.close(c)
	})
}

// "MPA Responder mode implementations MUST receive and validate at least one FPDU before sending
// any FPDUs or Markers."
// MPA-5044-7.1.2-16
func TestRFC5044_7_1_2_ResponderSendsSecond(t *testing.T) {
	fpdu := octetsOf("0017 4143 00000000 00000000 00000001 00000000 68656c6c6f 000000 b990b10c") // a Send of "hello"
	for _, valid := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			c, far := against(t, false, extsock.Config{Messages: true})
			far.say(requestKey + "c0 01 0000")
			if err := c.EnableDDP(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			far.hear(replyKey + "40 01 0000")
			written := make(chan error, 1)
			go func() { _, err := c.Write([]byte("fenced")); written <- err }()
			far.hearNothing()
			if !valid {
				bad := append([]byte(nil), fpdu...)
				bad[12] ^= 1
				far.Write(bad)
				far.hearEnd() // not even a Terminate
				if err := <-written; err == nil {
					t.Error("Write succeeds")
				}
				far.close(c)
				return
			}
			far.Write(fpdu[:len(fpdu)-1])
			far.hearNothing() // a part of an FPDU is none
			far.Write(fpdu[len(fpdu)-1:])
			far.hear("00000000 0018 4143 00000000 00000000 00000001 00000000 66656e636564 0000")
			if err := <-written; err != nil {
				t.Error(err)
			}
			far.close(c)
		})
	}
}

// "The Initiator ULP MAY close the TCP/MPA/DDP connection as a result of validating the Private
// Data fields."
// MPA-5044-7.1.2-18
func TestRFC5044_7_1_2_InitiatorsULPDeclines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, far := against(t, true, plainInitiator)
		done := enable(c, "")
		far.hear(requestKey + "40 01 0000")
		far.say(replyKey + "40 01 0005 776f6e2774")
		if err := <-done; err != nil || string(c.ConnectionState().PeerPrivateData) != "won't" {
			t.Fatalf("EnableDDP = %v, Private Data %q", err, c.ConnectionState().PeerPrivateData)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		far.hearEnd()
		far.close(c)
	})
}

// "Implementations SHOULD put a timeout on waiting for the MPA Request Frame when started in
// Responder mode, to detect incorrect "Responder/Responder" startups." "MPA implementations SHOULD
// implement a reasonable timeout while waiting for the entire set of startup frames".
// MPA-5044-7.1.2-22, MPA-5044-7.1.2-27
func TestRFC5044_7_1_2_Timeouts(t *testing.T) {
	wantTimeout := func(t *testing.T, err error, took, want time.Duration) {
		t.Helper()
		var ne net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() || took != want {
			t.Errorf("EnableDDP = %v after %v, want a timeout after %v", err, took, want)
		}
	}
	t.Run("two Responders", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			begin, timeouts := time.Now(), 0
			for _, result := range []<-chan error{enable(extsock.NewConn(a, false, nil), ""), enable(extsock.NewConn(b, false, nil), "")} {
				err := <-result
				// Where the other one has closed a moment before, that is what this one sees.
				if took := time.Since(begin); !errors.Is(err, extsock.ErrNoRequest) || took != 5*time.Second {
					wantTimeout(t, err, took, 5*time.Second)
					timeouts++
				}
			}
			if timeouts == 0 {
				t.Error("neither has noticed")
			}
		})
	})
	for _, tt := range []struct {
		desc      string
		initiator bool
		key       string
		want      time.Duration
	}{{"Request", false, requestKey, 5 * time.Second}, {"Reply", true, replyKey, 10 * time.Second}} {
		t.Run("one octet of the "+tt.desc+" each 0.7 s", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, far := against(t, tt.initiator, plainInitiator)
				dripped := make(chan struct{})
				go func() {
					defer close(dripped)
					if tt.initiator {
						io.ReadFull(far, make([]byte, 20))
					}
					for _, octet := range octetsOf(tt.key) {
						far.Write([]byte{octet})
						time.Sleep(700 * time.Millisecond)
					}
				}()
				begin := time.Now()
				err := c.EnableDDP(t.Context(), nil)
				wantTimeout(t, err, time.Since(begin), tt.want)
				<-dripped
				wantDeadConn(t, c)
				far.close(c)
			})
		})
	}
}

// The version of DDP and RDMAP is 1 with either revision of MPA, and that of both ends is the same:
// "the DDP and RDMAP version MUST be identical in the two directions" (appendix C.1). "MPA MUST
// provide the protocol version negotiated with its peer to DDP", and the connection its program.
// MPA-5044-3-14, MPA-5044-3-15, MPA-5044-C.1-2
func TestRFC5044_3_VersionsAreOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, revision := range []int{1, 2} {
			seen := new(recorder)
			i, r := inMessages, inMessages
			i.cfg.Revision, i.cfg.Tap = revision, seen.tap
			i.cfg.MaxFPDU, r.cfg.MaxFPDU = 200, 200 // the message takes several segments
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := switched(t, a, b, i, r)
			mi, mr := ci.ConnectionState().Revision, cr.ConnectionState().Revision
			if mi != revision || mr != revision {
				t.Errorf("revision of MPA: %d and %d, want %d", mi, mr, revision)
			}
			seen.mu.Lock()
			out, in := len(seen.sent), len(seen.received) // the frames, and perhaps the zero-length Write
			out = frameLen(t, seen.sent[:out])
			in = frameLen(t, seen.received[:in])
			seen.mu.Unlock()
			for _, way := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
				if err := way[0].Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 1000)}); err != nil {
					t.Fatal(err)
				}
				if n, err := way[1].Read(make([]byte, 2000)); n != 1000 || err != nil {
					t.Fatal(n, err)
				}
			}
			seen.mu.Lock()
			for desc, ulpdu := range map[string][]byte{"Initiator's": seen.sent[out+2:], "Responder's": seen.received[in+2:]} {
				if ulpdu[0]&3 != 1 || ulpdu[1]>>6 != 1 {
					t.Errorf("revision %d: the %s first ULPDU begins %x", revision, desc, ulpdu[:2])
				}
			}
			seen.mu.Unlock()
		}
	})
}

// frameLen returns how long the frame is that b begins with.
func frameLen(t *testing.T, b []byte) int {
	t.Helper()
	n, err := mpa.FrameLen(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
