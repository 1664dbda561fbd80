package proxy

import (
	"context"
	"net"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
)

// A Half is the DDP side of a proxied connection, for callers that make or accept the plain TCP
// side themselves. The caller of Dial or Answer must call Carry or Close.
type Half struct {
	p        *Proxy
	end      end
	accepted bool
}

// Dial connects to a TCP address at which an exit listens, or any other peer that speaks DDP from
// the beginning of a connection. A nil cfg means the zero Config. Config.Timeout bounds the call.
func Dial(ctx context.Context, address string, cfg *Config) (*Half, error) {
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
	return &Half{p: p, end: end}, nil
}

// An Acceptor answers peers that speak DDP, on connections that its caller has accepted. Any
// goroutine may call Answer.
type Acceptor struct {
	p    *Proxy
	l    *extsock.Listener
	next chan net.Conn

	mu locks.Mutex[locks.Leaf] // held while a connection passes through next and l
}

// NewAcceptor returns an Acceptor. A nil cfg means the zero Config.
func NewAcceptor(cfg *Config) (*Acceptor, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := &Acceptor{p: &Proxy{cfg: cfg, socket: cfg.socket()}, next: make(chan net.Conn, 1)}
	socket := a.p.socket
	socket.Startup = extsock.StartupOff // Answer calls it
	a.l = extsock.NewListener(given(a.next), &socket)
	return a, nil
}

// A given is a listener that accepts the connections sent to it.
type given chan net.Conn

func (g given) Accept() (net.Conn, error) { return <-g, nil }
func (g given) Close() error              { return nil }
func (g given) Addr() net.Addr            { return &net.TCPAddr{} }

// Answer runs the TLS handshake, if Config.Socket has TLS, and accepts the peer's MPA Request.
// Config.Timeout bounds each of the two. Answer owns c, and closes it if it fails.
func (a *Acceptor) Answer(ctx context.Context, c net.Conn) (*Half, error) {
	x, err := a.enter(c)
	if err != nil {
		return nil, err
	}
	from := &ddpEnd{Conn: x, stream: c}
	if err := x.EnableDDP(ctx, nil); err != nil {
		from.abort()
		return nil, fail(err, "MPA startup with the peer")
	}
	return &Half{p: a.p, end: from, accepted: true}, nil
}

func (a *Acceptor) enter(c net.Conn) (*extsock.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next <- c
	x, err := a.l.Accept()
	if err != nil {
		return nil, err
	}
	return x.(*extsock.Conn), nil
}

// LocalAddr returns the address of this end of the connection.
func (h *Half) LocalAddr() net.Addr { return h.end.LocalAddr() }

// Close ends the connection without carrying anything.
func (h *Half) Close() error { return h.end.Close() }

// Carry copies bytes between c, a connection in plain TCP, and the Half, in both directions, until
// both directions have ended or ctx is done. It owns and closes both connections.
func (h *Half) Carry(ctx context.Context, c net.Conn) Summary {
	begin := time.Now()
	s := Summary{Through: true, DDPMode: true}
	program, peer := side{&plainEnd{Conn: c}, "the program"}, side{h.end, "the peer"}
	from, to := program, peer
	if h.accepted {
		from, to = peer, program
	}
	s.From, s.To = peerOf(from), to.RemoteAddr().String()
	pipe := newPipe(from, to, &h.p.total, func() {})
	s.Err = pipe.run(ctx, h.p.cfg.Idle)
	s.There, s.Back, s.Duration = pipe.there.octets.Load(), pipe.back.octets.Load(), time.Since(begin)
	return s
}
