package extsock_test

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// rawOver is rawPair over given streams: the raw peer has a and asks for what request says, in revision 1.
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
	p := &rawPeer{t: t, s: a, tx: mpa.NewSender(request.CRC, cfg.Markers), rx: mpa.NewReceiver(request.CRC, request.Markers)}
	p.rx.SetBuffer(make([]byte, 1<<20))
	for got := 0; got < mpa.FrameHeaderLen; {
		n, err := a.Read(make([]byte, mpa.FrameHeaderLen-got))
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	return p, c
}

// The LLP "MUST NOT allow any further data transfer on that Stream after RDMAP requests the Stream to be torn down": not
// even where the peer takes no octets, so that the Terminate can't go out and TCP can't be closed.
//
// RDMAP-5040-7-3
func TestRFC5040_7_NothingIsPlacedAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := simtoe.Config{Window: 4096}
		a, b := simtoe.Pair(wire, wire)
		p, c := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{})
		source := register(t, c, make([]byte, 8<<20), extsock.RemoteRead)
		memory := make([]byte, 4)
		target := register(t, c, memory, extsock.RemoteWrite)
		p.send(readRequest(source.STag(), source.TO(), 8<<20)...)
		synctest.Wait() // the answer is stuck in the middle
		source.Deregister()
		ended := func() bool {
			var te *rdmap.TerminateError
			return errors.As(c.Post(&extsock.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true}), &te)
		}
		few := make([]byte, 16) // less than a Terminate, for which there is then no room
		for n := 0; !ended(); n++ {
			if _, err := a.Read(few); err != nil || n > 1<<20 {
				t.Fatalf("the source is gone and the answer goes on: %v", err)
			}
			synctest.Wait()
		}
		p.send(tagged(rdmap.OpWrite, target.STag(), target.TO())...)
		synctest.Wait()
		if !bytes.Equal(memory, make([]byte, 4)) {
			t.Errorf("a Write that comes after the error is placed: %x", memory)
		}
		c.Close()
		a.Close()
		settle()
	})
}
