package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rddp/rddp/internal/locks"
)

// A Router runs a Proxy for each of its routes, which can change while it runs. All share one
// Config, but Config.MaxConns applies to each.
type Router struct {
	cfg     *Config
	serving sync.WaitGroup
	failed  chan error // the first error of a Proxy

	// held while Set replaces the routes, which may wait for a name server; locked before mu
	setting locks.Mutex[locks.ProxyRoutes]

	mu locks.Mutex[locks.Leaf] // never held during a wait
	// the Proxies of the current routes
	routes map[Address]*Proxy // +checklocks:mu
	// all running Proxies, including those of removed routes
	proxies map[*Proxy]bool // +checklocks:mu
	// the sum for Proxies that have ended
	past Stats // +checklocks:mu
}

// NewRouter returns a Router without routes. Call Set to add routes.
func NewRouter(cfg *Config) *Router {
	if cfg == nil {
		cfg = &Config{}
	}
	return &Router{cfg: cfg, failed: make(chan error, 1), routes: make(map[Address]*Proxy), proxies: make(map[*Proxy]bool)}
}

// Set replaces all routes, or none if it returns an error. It opens the listeners of new routes,
// and closes the listeners of removed routes, but not their connections. A route with the same
// Listen keeps its listener; a different To applies to new connections. The Router serves until ctx
// is done, and then ends like Proxy.Serve.
func (r *Router) Set(ctx context.Context, routes []Route) error {
	r.setting.Lock()
	defer r.setting.Unlock()
	r.mu.Lock()
	before := r.routes
	r.mu.Unlock()
	if ctx.Err() != nil && len(before) > 0 {
		return context.Cause(ctx) // the Router is ending
	}
	next, opened, err := r.open(ctx, before, routes)
	if err == nil && ctx.Err() != nil && len(before) > 0 {
		err = context.Cause(ctx)
	}
	if err != nil {
		for _, p := range opened {
			p.Close()
		}
		return err
	}
	r.mu.Lock()
	for _, p := range opened {
		r.proxies[p] = true
		r.serving.Go(func() { r.serve(ctx, p) })
	}
	r.routes = next
	r.mu.Unlock()
	r.settle(ctx, before, next, opened, routes)
	return nil
}

// open opens the listeners of routes that are not in before. It returns the Proxies of all routes,
// and those that it has opened, even on an error.
func (r *Router) open(ctx context.Context, before map[Address]*Proxy, routes []Route) (next map[Address]*Proxy, opened []*Proxy, err error) {
	next = make(map[Address]*Proxy)
	for _, route := range routes {
		p, stays := before[route.Listen]
		switch _, twice := next[route.Listen]; {
		case twice:
			err = fmt.Errorf("two routes listen at %v", route.Listen)
		case stays && route.Listen.DDP == route.To.DDP:
			err = ErrSides
		case !stays:
			p, err = Listen(ctx, route.Listen, route.To, r.cfg)
		}
		if err != nil {
			return nil, opened, err
		}
		if !stays {
			opened = append(opened, p)
		}
		next[route.Listen] = p
	}
	return next, opened, nil
}

// settle completes Set: it closes removed listeners and changes targets, and entrances try their
// new exits. It cannot fail.
func (r *Router) settle(ctx context.Context, before, next map[Address]*Proxy, opened []*Proxy, routes []Route) {
	for listen, p := range before {
		if next[listen] == nil {
			r.cfg.log().Info("not listening any more", "address", p.Addr(), "open", p.Stats().Open)
			p.Close()
		}
	}
	for _, route := range routes {
		if p := next[route.Listen]; p.Target() != route.To {
			_ = p.Retarget(route.To) // cannot fail, because the sides have not changed
			r.cfg.log().Info("another target", "address", p.Addr(), "to", route.To)
			r.try(ctx, p)
		}
	}
	for _, p := range opened {
		r.cfg.log().Info("listening", "part", p.part(), "to", p.Target(), "address", p.Addr())
		r.try(ctx, p)
	}
}

// try lets an entrance try its exit, in the background.
func (r *Router) try(ctx context.Context, p *Proxy) {
	if !p.listen.DDP {
		r.serving.Go(func() { p.try(ctx) })
	}
}

func (p *Proxy) part() string {
	if p.listen.DDP {
		return "exit"
	}
	return "entrance"
}

// serve serves p until it has ended.
func (r *Router) serve(ctx context.Context, p *Proxy) {
	err := p.Serve(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !(errors.Is(err, net.ErrClosed) && r.routes[p.listen] != p) { // ignore the error of a Proxy that Set has closed
		select {
		case r.failed <- err:
		default: // one error is enough
		}
	}
	delete(r.proxies, p)
	r.past.add(p.Stats())
}

// Wait waits until ctx, which must be the context of Set, is done and all connections have ended.
// If a listener fails, Wait returns the error at once.
func (r *Router) Wait(ctx context.Context) error {
	select {
	case err := <-r.failed:
		return err
	case <-ctx.Done():
	}
	r.awaitSet()
	r.serving.Wait()
	select {
	case err := <-r.failed:
		return err
	default:
		return nil
	}
}

// awaitSet waits for a running Set.
func (r *Router) awaitSet() {
	r.setting.Lock()
	defer r.setting.Unlock()
}

// IsReady reports whether there are routes and all of them accept connections.
func (r *Router) IsReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.routes {
		if !p.isReady() {
			return false
		}
	}
	return len(r.routes) > 0
}

// Stats returns the sums of all counters, including those of removed routes.
func (r *Router) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.past
	for p := range r.proxies {
		sum.add(p.Stats())
	}
	return sum
}
