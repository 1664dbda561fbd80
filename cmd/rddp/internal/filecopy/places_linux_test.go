package filecopy

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// TestPlaces: a server gives its MaxConns places as package admission says, by the clients'
// addresses. Clients of one address that make no request displace only each other. If the places
// belong to clients that have made one, a client of the same address is refused, and one of another
// address gets a place that was lent. A client that ends leaves its place.
func TestPlaces(t *testing.T) {
	const places, many = 4, 20
	v := serve(t, &ServerConfig{MaxConns: places, chunk: testChunk, quiet: places})
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	stat := func(s *session) error {
		_, err := s.ask(message{kind: kindStat, text: "ok"}, kindAttr)
		return err
	}
	early := connectFrom(t, v, 1)
	early.send(message{kind: kindBusy}) // this asks for nothing
	var flood []*session
	for range many {
		flood = append(flood, connectFrom(t, v, 2))
	}
	for _, s := range flood[:many+1-places] {
		<-s.over
	}
	flood = flood[many+1-places:]
	for _, s := range append(flood, early) {
		if err := stat(s); err != nil {
			t.Errorf("a client that keeps its place: %v", err)
		}
	}
	if err := stat(connectFrom(t, v, 2)); !errors.Is(err, ErrTooManyClients) {
		t.Errorf("a client of the flood beyond the limit: %v, want ErrTooManyClients", err)
	}
	late := connectFrom(t, v, 3)
	if err := stat(late); err != nil {
		t.Errorf("a client of another address: %v", err)
	}
	<-flood[len(flood)-1].over
	for _, s := range []*session{early, late, flood[0]} {
		if err := stat(s); err != nil {
			t.Errorf("a client that keeps its place: %v", err)
		}
	}
	early.c.Close()
	admitted(t, connectFrom(t, v, 3))
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
