package proxy

import (
	"context"
	"errors"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// dialDDP connects to the exit in DDP mode, or, if Config.Fallback is set and the peer does not
// speak DDP, in plain TCP.
func (p *Proxy) dialDDP(ctx context.Context, s *Summary) (end, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.timeout())
	defer cancel()
	var below toe.Stream
	d, to := p.currentDialer(), p.Target()
	dial := d.DialDDP
	if p.cfg.Fallback {
		dial = func(ctx context.Context, network, address string) (*extsock.Conn, error) {
			c, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return c.(*extsock.Conn), nil
		}
	}
	c, err := dial(context.WithValue(ctx, streamKey{}, &below), to.Network, to.Address)
	if err != nil {
		return nil, err
	}
	state := c.ConnectionState()
	s.DDPMode, s.Fallback = state.DDPMode, state.Fallback
	if s.Fallback == nil {
		return &ddpEnd{Conn: c, stream: below}, nil
	}
	p.fallbacks.Add(1)
	// The Dialer remembers a reason for a while, so log it only the first time.
	if !errors.Is(errors.Unwrap(s.Fallback), extsock.ErrPlainTCP) {
		p.cfg.log().Warn("the peer does not speak DDP, so the way to it is plain TCP", "to", to, "tls", d.Config.TLS != nil, "err", errtext.Text(s.Fallback))
	}
	if d.Config.TLS != nil {
		return &ddpEnd{Conn: c, stream: below}, nil
	}
	return &plainEnd{Conn: c}, nil
}

// A lastDialer is the Dialer of the last connection. It remembers which peers fall back.
type lastDialer struct {
	mu     locks.Mutex[locks.Leaf]
	dialer *extsock.Dialer // +checklocks:mu
}

// currentDialer returns the Dialer for the next connection. It is a new one if the TLS
// configuration has changed.
func (p *Proxy) currentDialer() *extsock.Dialer {
	now := p.socket.TLS
	if p.cfg.TLS != nil {
		now = p.cfg.TLS()
	}
	last := &p.dialer
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.dialer == nil || last.dialer.Config.TLS != now {
		socket := p.socket
		socket.TLS = now
		if p.cfg.Fallback {
			socket.Startup = extsock.StartupPrefer
		}
		if socket.Backend == nil {
			socket.Backend = &kernel.Backend{}
		}
		socket.Backend = &recorder{socket.Backend}
		last.dialer = &extsock.Dialer{Config: &socket}
	}
	return last.dialer
}

// A recorder is a Backend that stores the last Stream it has made for a dial, which is the Stream
// of the connection that the dial returns. It stores the Stream through the pointer in the
// context's streamKey.
type recorder struct{ toe.Backend }

type streamKey struct{}

func (r *recorder) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	s, err := r.Backend.Dial(ctx, network, address)
	if last, asked := ctx.Value(streamKey{}).(*toe.Stream); asked {
		*last = s
	}
	return s, err
}
