package filecopy

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// Clients from one address that ask for nothing take only each other's places: one at another
// address that has asked for nothing yet keeps its own.
func TestFloodFromOneAddress(t *testing.T) {
	const quiet, many = 4, 20
	v := serve(t, &ServerConfig{MaxConns: 1, chunk: testChunk, quiet: quiet})
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	honest := connect(t, v)
	honest.send(message{kind: kindBusy}) // this asks for nothing
	conf := socket(extsock.Config{}, 10*time.Second)
	d := extsock.Dialer{Config: &conf, NetDialer: net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}}
	var flood []*session
	for range many {
		c, err := d.DialDDP(t.Context(), "tcp", v.addr)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t.Context(), c, 10*time.Second, 10*time.Second)
		t.Cleanup(s.close)
		flood = append(flood, s)
	}
	for _, s := range flood[:many+1-quiet] {
		<-s.over
	}
	select {
	case <-honest.over:
		t.Errorf("the honest client was displaced: %v", honest.cause)
	default:
	}
	admitted(t, honest)
}
