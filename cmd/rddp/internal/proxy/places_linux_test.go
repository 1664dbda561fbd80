package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
	"github.com/rddp/rddp/mpa"
)

// TestPlaces: an entrance and an exit give their MaxConns places as package admission says, by the
// clients' addresses. Silent clients of one address displace only each other. If the places belong
// to clients that have sent something, a client of the same address is refused, and one of another
// address gets a place that was lent. A client that ends leaves its place.
func TestPlaces(t *testing.T) {
	from := func(host byte) net.Dialer { return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, host)}} }
	t.Run("entrance", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
		d := door{at: start(t, "127.0.0.1:0", exit.Addr().String(), Config{MaxConns: places})}
		d.dial = func(host byte) (net.Conn, error) {
			dialer := from(host)
			return dialer.Dial("tcp", d.at.Addr().Address)
		}
		d.try(t, func() {
			c, err := d.dial(2)
			if err == nil {
				_, err = c.Read(make([]byte, 1))
			}
			if !isReset(err) {
				t.Errorf("beyond the limit: %v, want a reset", err)
			}
		})
	})
	t.Run("exit", func(t *testing.T) {
		d := door{at: start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{MaxConns: places, Timeout: time.Hour})}
		d.at.dial(t) // it sends no MPA Request, so it takes no place
		d.dial = func(host byte) (net.Conn, error) {
			return (&extsock.Dialer{NetDialer: from(host)}).DialDDP(context.Background(), "tcp", d.at.Addr().Address)
		}
		d.try(t, func() {
			_, err := d.dial(2)
			if reject := (*mpa.RejectError)(nil); !errors.As(err, &reject) || !strings.Contains(string(reject.PrivateData), "too many connections") {
				t.Errorf("beyond the limit: %v, want a rejection that says why", err)
			}
			if s := told(t, d.at, "too many connections"); !errors.Is(s.Err, ErrTooMany) {
				t.Errorf("told %v", s)
			}
		})
	})
}

const places = 4

// A door is a proxy with places.
type door struct {
	at   *running
	dial func(host byte) (net.Conn, error)
}

// try checks which clients get and keep the places. refused dials, and checks that there is none.
func (d door) try(t *testing.T, refused func()) {
	come := func(host byte) net.Conn {
		t.Helper()
		c, err := d.dial(host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	say := func(client string, c net.Conn) {
		t.Helper()
		b := []byte("x")
		c.Write(b)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Errorf("%s: %v", client, err)
		}
	}
	loses := func(why error) {
		t.Helper()
		if s := d.at.next(t); !errors.Is(s.Err, why) || !strings.HasPrefix(s.From, "127.0.0.2:") {
			t.Errorf("%v lost its place: %v, want %v", s.From, s.Err, why)
		}
	}
	open := d.at.Stats().Open
	early := come(1)
	prototest.Wait(t, "the early client is accepted", func() bool { return d.at.Stats().Open > open })
	const many = 20
	var flood []net.Conn
	for range many {
		flood = append(flood, come(2))
	}
	for range many + 1 - places {
		loses(accept.ErrDisplaced)
	}
	flood = flood[many+1-places:]
	say("the early client", early)
	for _, c := range flood {
		say("a client of the flood", c)
	}
	refused()
	late := come(3)
	loses(admission.ErrShare)
	say("the late client", late)
	say("the early client", early)
	say("the first of the flood", flood[0])
	early.Close()
	if s := d.at.next(t); s.Err != nil {
		t.Errorf("the early client ended with %v", s.Err)
	}
	say("a client that comes when one has gone", come(3))
}
