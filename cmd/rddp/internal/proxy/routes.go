package proxy

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A Route contains the addresses at which a Proxy listens and to which it connects.
type Route struct{ Listen, To Address }

// ParseRoutes parses a file of routes. Each line has two addresses in the form of ParseAddress:
// where to listen, and what to connect to. Blank lines are ignored, and # begins a comment. No two
// routes may listen at the same address, and either all of them listen in DDP mode or none does. An
// error begins with the line number, unless the file has no route at all.
func ParseRoutes(r io.Reader) (routes []Route, err error) {
	at := make(map[Address]int) // the line of each Listen
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		route, err := parseRoute(fields)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case at[route.Listen] != 0:
			return nil, fmt.Errorf("line %d: line %d listens at %v too", n, at[route.Listen], route.Listen)
		case len(routes) > 0 && routes[0].Listen.DDP != route.Listen.DDP:
			return nil, fmt.Errorf("line %d: %w", n, ErrParts)
		}
		at[route.Listen] = n
		routes = append(routes, route)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	if len(routes) == 0 {
		return nil, ErrNoRoute
	}
	return routes, nil
}

func parseRoute(fields []string) (r Route, err error) {
	if len(fields) != 2 {
		return r, fmt.Errorf("a route has 2 addresses, where to listen and what to connect to, and not %d", len(fields))
	}
	if r.Listen, err = ParseAddress(fields[0]); err != nil {
		return r, err
	}
	if r.To, err = ParseAddress(fields[1]); err == nil && r.Listen.DDP == r.To.DDP {
		err = fmt.Errorf("%v %v: %w", r.Listen, r.To, ErrSides)
	}
	return r, err
}
