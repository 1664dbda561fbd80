package proxy

import (
	"context"
	"net"
	"time"
)

// An Onward is a connection to an exit, for a part that has its own way to accept connections.
type Onward struct {
	p   *Proxy
	end end
}

// Dial connects to a TCP address at which an exit listens, or any other peer that speaks DDP from the
// beginning of a connection. A nil cfg means the zero Config, whose Timeout bounds the call. The caller
// must call Carry or Close.
func Dial(ctx context.Context, address string, cfg *Config) (*Onward, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, socket: cfg.socket()}
	p.to.Store(&Address{Network: "tcp", Address: address, DDP: true})
	end, err := p.dialDDP(ctx, &Summary{})
	if err != nil {
		return nil, err
	}
	return &Onward{p, end}, nil
}

// LocalAddr returns the address of this end of the connection.
func (o *Onward) LocalAddr() net.Addr { return o.end.LocalAddr() }

// Close ends the connection without having carried anything.
func (o *Onward) Close() error { return o.end.Close() }

// Carry carries bytes between from, a connection in plain TCP, and the Onward, in both directions until
// both have ended or ctx is done. It owns and closes both.
func (o *Onward) Carry(ctx context.Context, from net.Conn) Summary {
	s := Summary{From: peerOf(from), To: o.p.Target().String(), Through: true, DDPMode: true}
	begin := time.Now()
	pipe := newPipe(side{&plainEnd{Conn: from}, "the program"}, side{o.end, "the peer"}, &o.p.total, func() {})
	s.Err = pipe.run(ctx, o.p.cfg.Idle)
	s.There, s.Back, s.Duration = pipe.there.octets.Load(), pipe.back.octets.Load(), time.Since(begin)
	return s
}
