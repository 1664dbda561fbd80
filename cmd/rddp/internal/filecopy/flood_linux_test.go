package filecopy

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// Clients from one address that make no request displace only each other: a quiet client at another
// address keeps its place.
func TestFloodFromOneAddress(t *testing.T) {
	const quiet, many = 4, 20
	v := serve(t, &ServerConfig{MaxConns: 1, chunk: testChunk, quiet: quiet})
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	honest := connect(t, v)
	honest.send(message{kind: kindBusy}) // this asks for nothing
	var flood []*session
	for range many {
		flood = append(flood, connectFrom(t, v, 2))
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

// connectFrom connects from the address 127.0.0.from.
func connectFrom(t *testing.T, v *serving, from byte) *session {
	t.Helper()
	conf := socket(extsock.Config{}, 10*time.Second)
	d := extsock.Dialer{Config: &conf, NetDialer: net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}}
	c, err := d.DialDDP(t.Context(), "tcp", v.addr)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t.Context(), c, 10*time.Second, 10*time.Second)
	t.Cleanup(s.close)
	return s
}

// TestFloodThatAsks: clients of one address, which have made a request and now only report that
// they are alive, take all places. An earlier client of another address keeps its place, and later
// clients get their share of the places.
func TestFloodThatAsks(t *testing.T) {
	const most = 6
	v := serve(t, &ServerConfig{MaxConns: most, chunk: testChunk})
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	client := func(from byte) *session {
		s := connectFrom(t, v, from)
		admitted(t, s)
		return s
	}
	early := client(1)
	var flood []*session
	for range most - 1 {
		flood = append(flood, client(2))
	}
	refused := connectFrom(t, v, 2)
	if _, err := refused.ask(message{kind: kindStat, text: "ok"}, kindAttr); !errors.Is(err, ErrTooManyClients) {
		t.Errorf("one client too many of the flood: %v, want ErrTooManyClients", err)
	}
	late := client(3)
	<-flood[len(flood)-1].over
	for _, s := range []*session{early, late, flood[0]} {
		if _, err := s.ask(message{kind: kindStat, text: "ok"}, kindAttr); err != nil {
			t.Errorf("a client that keeps its place: %v", err)
		}
	}
}
