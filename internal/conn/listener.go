package conn

import (
	"net"

	"github.com/rddp/rddp/internal/conn/startup"
)

// maxHalfOpen is how many connections of a Listener may wait for their Request. If there are more,
// the oldest one of the address with most of them is closed: see startup.Door.
const maxHalfOpen = 4096

// A Listener accepts connections for Responders.
type Listener struct {
	below net.Listener
	cfg   Config
	door  *startup.Door
}

// NewListener returns a Listener over l, which the Listener owns from now on.
func NewListener(l net.Listener, cfg *Config) *Listener {
	return &Listener{below: l, cfg: *cfg, door: startup.NewDoor(maxHalfOpen, -1)}
}

// Accept waits for the next connection and returns it. Its startup has not begun.
func (l *Listener) Accept() (*Conn, error) {
	c, err := l.below.Accept()
	if err != nil {
		return nil, err
	}
	return New(StreamOf(c), false, &l.cfg, l.door), nil
}

// Close stops listening. It does not affect connections that Accept has returned.
func (l *Listener) Close() error { return l.below.Close() }

// Addr returns the address at which the Listener listens.
func (l *Listener) Addr() net.Addr { return l.below.Addr() }
