package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// rawOver is rawPair over the streams a, which the raw peer uses, and b. The peer sends request, in
// revision 1.
func rawOver(t *testing.T, a, b net.Conn, request mpa.Frame, cfg extsock.Config) (*rawPeer, *extsock.Conn) {
	t.Helper()
	c := extsock.NewConn(b, false, &cfg)
	t.Cleanup(func() { a.Close(); c.Close() })
	if request.Revision == 0 {
		request.Revision = 1
	}
	if _, err := a.Write(request.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if err := c.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rawpeer.ReadFrame(a); err != nil {
		t.Fatal(err)
	}
	return newRawPeer(t, a, mpa.Agreement{CRC: request.CRC, TxMarkers: cfg.Markers, RxMarkers: request.Markers}), c
}

// The LLP "MUST NOT allow any further data transfer on that Stream after RDMAP requests the Stream
// to be torn down": not even where the peer takes no octets, so that the Terminate can't go out and
// TCP can't be closed.
//
// RDMAP-5040-7-3
func TestRFC5040_7_NothingIsPlacedAfterAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		wire := simtoe.Config{Window: 4096}
		a, b := simtoe.Pair(wire, wire)
		p, c := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{})
		source := register(t, c, make([]byte, 8<<20), ddp.RemoteRead)
		memory := make([]byte, 4)
		target := register(t, c, memory, ddp.RemoteWrite)
		p.send(readRequest(source.Handle().STag, source.Handle().TO, 8<<20)...)
		synctest.Wait() // the answer is stuck in the middle
		source.Deregister()
		ended := func() bool {
			var te *rdmap.TerminateError
			return errors.As(c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true}), &te)
		}
		few := make([]byte, 16) // less than a Terminate, for which there is then no room
		for n := 0; !ended(); n++ {
			if _, err := a.Read(few); err != nil || n > 1<<20 {
				t.Fatalf("the source is gone and the answer goes on: %v", err)
			}
			synctest.Wait()
		}
		p.send(tagged(rdmap.OpWrite, target.Handle().STag, target.Handle().TO)...)
		synctest.Wait()
		if !bytes.Equal(memory, make([]byte, 4)) {
			t.Errorf("a Write that comes after the error is placed: %x", memory)
		}
		c.Close()
		a.Close()
		settle()
	})
}

// TestErrorOfTheEndThatFindsTheFault: whichever layer finds what the peer did wrong, the error of
// the next call is the Terminate that went out, with the layer's own error in it.
func TestErrorOfTheEndThatFindsTheFault(t *testing.T) {
	for _, tt := range []struct {
		desc string
		send func(h rdmap.Handle) []byte
	}{
		{"a Write, which DDP refuses", func(h rdmap.Handle) []byte { return tagged(rdmap.OpWrite, h.STag, h.TO) }},
		{"a Read, which RDMAP refuses", func(h rdmap.Handle) []byte { return readRequest(h.STag, h.TO, 4) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				p, c := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{})
				r := register(t, c, make([]byte, 64), ddp.RemoteAtomic)
				p.send(tt.send(r.Handle())...)
				_, err := c.Read(make([]byte, 1))
				var te *rdmap.TerminateError
				var access *ddp.AccessError
				if !errors.As(err, &te) || te.Remote || !errors.As(err, &access) {
					t.Errorf("Read = %v, want a TerminateError with an AccessError in it", err)
				}
				c.Close()
				a.Close()
				settle()
			})
		})
	}
}

// "When a peer sends or receives a Terminate Message, it MAY immediately tear down the LLP Stream.
// The peer SHOULD perform a graceful LLP teardown to ensure the Terminate Message is successfully
// Delivered" (RFC 5040 §6.2.1): the FIN follows the Terminate, over a real TCP too, where what the
// peer goes on sending would make a plain close a reset.
//
// RDMAP-5040-6.2.1-3, RDMAP-5040-6.2.1-4
func TestRFC5040_6_2_1_TerminateThenFIN(t *testing.T) {
	for range 5 {
		a, b := kernelStreams(t)
		a.SetDeadline(prototest.Deadline(t))
		p, _ := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{})
		more := bytes.Join([][]byte{tagged(rdmap.OpWrite, 9, 9), make([]byte, 60_000)}, nil)
		for range 40 {
			p.send(more...) // the first is an error, and the others are discarded
		}
		p.wantTerminate(1, 1, 0)
		if _, err := a.Write(make([]byte, 1<<20)); err != nil {
			t.Errorf("after the Terminate and the FIN: %v, want the peer's octets to be taken", err)
		}
		a.Close()
	}
}

// "For a specific LLP connection, when all Streams are either gracefully torn down or are labeled
// as erroneous Streams, the LLP connection MUST be torn down" (RFC 5040 §7): with TCP it has one.
// After an error at either end the TCP connection is closed, within the close timeout if the peer
// does not do its part.
//
// RDMAP-5040-7-4
func TestRFC5040_7_ConnectionIsTornDown(t *testing.T) {
	terminate := append(ddp.UntaggedHeader{
		Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: 1,
	}.AppendTo(nil), prototest.Terminate(0x1101)...)
	for desc, ulpdu := range map[string][]byte{
		"an error is found here": tagged(rdmap.OpWrite, 9, 9),
		"a Terminate comes":      terminate,
	} {
		for _, polite := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the peer closes %t", desc, polite), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					closes := &countedClose{Conn: b, closed: make(chan struct{})}
					p, _ := rawOver(t, a, closes, mpa.Frame{CRC: true}, extsock.Config{CloseTimeout: time.Second})
					p.send(ulpdu...)
					for {
						if _, err := p.next(); err == io.EOF {
							break
						} else if err != nil {
							t.Fatal(err)
						}
					}
					begin := time.Now()
					if polite {
						a.Close()
					}
					<-closes.closed // although the program has not called Close
					if d := time.Since(begin); d > 2*time.Second || polite && d > 0 {
						t.Errorf("it is closed after %v", d)
					}
					a.Close()
					settle()
				})
			})
		}
	}
}

// A countedClose tells when the stream is closed.
type countedClose struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *countedClose) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *countedClose) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}
