package ping

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe/simtoe"
)

// A server that ignores bytes right after its Reply, as siw may do, is nudged even if an RTR that
// is an RDMA Read delays the completion of the first Send.
func TestNudgeBehindRTRRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := simtoe.New(simtoe.Config{})
		l, err := backend.Listen(t.Context(), "tcp", "server:1")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		nudged := make(chan error, 1)
		go func() {
			s, err := l.Accept()
			if err != nil {
				nudged <- err
				return
			}
			defer s.Close()
			const (
				enhanced    = 4
				readRequest = 2 + 18 + 28 + 4
				send        = 2 + 18 + messageLen + 4
				emptyWrite  = 2 + 14 + 4
			)
			if _, err := io.ReadFull(s, make([]byte, mpa.FrameHeaderLen+enhanced)); err != nil {
				nudged <- err
				return
			}
			reply := mpa.Frame{Reply: true, Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: 1, PeerToPeer: true, RTR: mpa.RTRRead}
			s.Write(reply.AppendTo(nil))
			s.SetReadDeadline(time.Now().Add(4 * nudgeAfter))
			// The first nudge may come too early as well.
			_, err = io.ReadFull(s, make([]byte, readRequest+send+2*emptyWrite))
			nudged <- err
		}()
		socket := extsock.Config{Backend: backend, PeerToPeer: true, RTR: mpa.RTRRead}
		if _, err := Client(t.Context(), "server:1", &Config{Socket: socket, Count: 1}); err == nil {
			t.Error("a ping that nobody answered succeeds")
		}
		if err := <-nudged; err != nil {
			t.Errorf("the server waits for the nudge: %v", err)
		}
	})
}
