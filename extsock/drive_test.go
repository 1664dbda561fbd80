package extsock

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe/simtoe"
)

// standing is a connection that takes nothing once still is set.
type standing struct {
	net.Conn
	still atomic.Bool
}

func (s *standing) Read(p []byte) (int, error) {
	if s.still.Load() {
		time.Sleep(time.Minute)
	}
	return s.Conn.Read(p)
}

// TestDriveAfterClose: a Read that looked before Close, and takes the role behind it, does not wait for what Close waits for.
func TestDriveAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{Window: 4096})
		peer := &standing{Conn: b}
		ci, cr := NewConn(a, true, nil), NewConn(peer, false, nil)
		go cr.EnableDDP(t.Context(), nil)
		if err := ci.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		go func() {
			io.CopyN(cr, cr, 50*8)
			io.Copy(io.Discard, cr)
		}()
		p := make([]byte, 8)
		for range 50 { // until the role is left vacant
			if _, err := ci.Write(p); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(ci, p); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		peer.still.Store(true)
		for range 20 {
			if _, err := ci.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		begin := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- ci.Close() }()
		synctest.Wait()
		if ci.verbs.pump.role.held.Load() {
			t.Fatal("the role is not vacant")
		}
		ci.verbs.pump.drive(&ci.readDeadline)
		if d := time.Since(begin); d > 0 {
			t.Errorf("it received for %v", d)
		}
		if err := <-closed; !errors.Is(err, errCloseTimeout) {
			t.Errorf("Close = %v", err)
		}
		cr.Close()
		time.Sleep(time.Hour)
	})
}
