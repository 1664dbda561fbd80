//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rddp/rddp/examples/kvcache"
	"github.com/rddp/rddp/extsock"
)

// keyValue makes the dialing end SET N entries of the other end's store, and GET each by an RDMA
// Read.
func keyValue(p *peer) (string, error) {
	if !p.dials {
		return "served", errors.Join(p.store.Serve(&single{c: p.first}), p.store.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := kvcache.NewClient(ctx, p.first)
	if err != nil {
		return "", err
	}
	if _, err := c.Get(ctx, "none"); !errors.Is(err, kvcache.ErrNotFound) {
		return "", fmt.Errorf("a GET of nothing: %w", err)
	}
	for i := range p.n {
		key, want := fmt.Sprint("key ", i), fmt.Sprint("value ", i)
		if err := c.Set(ctx, key, []byte(want)); err != nil {
			return "", fmt.Errorf("SET %d: %w", i, err)
		}
		if got, err := c.Get(ctx, key); string(got) != want || err != nil {
			return "", fmt.Errorf("GET %d = %q, %w, want %q", i, got, err, want)
		}
	}
	return fmt.Sprintf("%d SETs and GETs", p.n), c.Close()
}

// A single is a listener of one connection.
type single struct{ c *extsock.Conn }

func (s *single) Accept() (net.Conn, error) {
	c := s.c
	if c == nil {
		return nil, net.ErrClosed
	}
	s.c = nil
	return c, nil
}

func (*single) Addr() net.Addr { return nil }
func (*single) Close() error   { return nil }
