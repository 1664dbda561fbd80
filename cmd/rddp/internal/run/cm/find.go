//go:build linux

package cm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/mpa"
)

// This file finds the listener that has a number: see number.go.
//
// On the same host and for the same user, the number is a name: see package shm. Elsewhere the
// connecting end asks at the places of the number, by a connection of its own. The device that
// listens at a place answers at once, so the question takes little time, while an answer to a
// Request takes as long as the peer's program wants. Only after a yes does the connecting end send
// its Request to that place: whatever else listens at such a port gets nothing but the question.
//
// If no place has the number, the connecting end tries the TCP port of the number. A device that is
// an RNIC listens there, and so do older versions of rddp.
//
// A question is the private data of an MPA Request, and the answer is that of a rejection:
//
//	 0              8        10
//	+--------------+--------+        +---------------+
//	| "rddp CM?"   | number |        | "rddp CM: yes"|
//	+--------------+--------+        +---------------+
const (
	whereMagic = "rddp CM?"
	here       = "rddp CM: yes"
)

// appendWhere appends a question for a number.
func appendWhere(b []byte, number uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, whereMagic...), number)
}

// parseWhere parses a question. ok is false if it is none.
func parseWhere(b []byte) (number uint16, ok bool) {
	if len(b) != len(whereMagic)+2 || string(b[:len(whereMagic)]) != whereMagic {
		return 0, false
	}
	return binary.BigEndian.Uint16(b[len(whereMagic):]), true
}

// answerWhere returns the answer of a listener to a question.
func (i *id) answerWhere(number uint16) []byte {
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	if i.ports() == connectionNumbers && i.state == listening && i.src.Port() == number {
		return []byte(here)
	}
	return nil
}

const (
	// askTime is the time that a device has to answer a question.
	askTime = 5 * time.Second
	// olderTime is the time that the program has to answer that listens at the port of TCP or UDP
	// with the number. What listens there may also be no RDMA program, and never answer.
	olderTime = 10 * time.Second
)

var errNoListener = errors.New("no program listens with rdma_cm at this port")

// reach connects to the listener at dst, and does MPA startup.
func (m *CM) reach(ctx context.Context, src, dst netip.AddrPort, cfg *conn.Config, private []byte, o softrnic.Owner) (*conn.Conn, error) {
	if m.wire == softrnic.Plain {
		c, err := m.dev.Dial(ctx, dialerFrom(src), dst.String(), cfg, private, o)
		if errors.Is(err, syscall.ECONNREFUSED) {
			if place, ok := m.find(ctx, src.Addr(), dst); ok {
				return m.dev.Dial(ctx, dialerFrom(src), place.String(), cfg, private, o)
			}
		}
		return c, err
	}
	if c, err := m.dev.DialNear(ctx, softrnic.Services, src, dst, cfg, private, o); c != nil || err != nil {
		return c, err
	}
	dialer := dialerFrom(netip.AddrPortFrom(src.Addr(), 0))
	if place, ok := m.find(ctx, src.Addr(), dst); ok {
		return m.dev.Dial(ctx, dialer, place.String(), cfg, private, o)
	}
	older := *cfg
	older.StartupTimeout = olderTime
	c, err := m.dev.Dial(ctx, dialer, dst.String(), &older, private, o)
	if err != nil && !isAnswer(err) {
		return nil, fmt.Errorf("%w: %w", errNoListener, err)
	}
	return c, err
}

// isAnswer reports whether err says that there is no TCP connection, or is the rejection by a
// program. Otherwise, what listens at the TCP port is no RDMA program.
func isAnswer(err error) bool {
	var rejected *mpa.RejectError
	var op *net.OpError
	return errors.As(err, &rejected) || errors.As(err, &op) && op.Op == "dial" || errors.Is(err, context.Canceled)
}

// find returns the place of the listener at to. ok is false if no place has its number.
func (m *CM) find(ctx context.Context, from netip.Addr, to netip.AddrPort) (place netip.AddrPort, ok bool) {
	all := Places(to.Port())
	first := netip.AddrPortFrom(to.Addr(), all[0])
	if m.ask(ctx, from, first, to.Port()) {
		return first, true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan netip.AddrPort, len(all))
	for _, p := range all[1:] {
		go func() {
			at := netip.AddrPortFrom(to.Addr(), p)
			if !m.ask(ctx, from, at, to.Port()) {
				at = netip.AddrPort{}
			}
			answers <- at
		}()
	}
	for range all[1:] {
		if at := <-answers; at.IsValid() {
			return at, true
		}
	}
	return place, false
}

// ask reports whether the device that listens at a TCP port has a number there.
func (m *CM) ask(ctx context.Context, from netip.Addr, at netip.AddrPort, number uint16) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	dialer := dialerFrom(netip.AddrPortFrom(from, 0))
	nc, err := dialer.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return false
	}
	c := conn.New(conn.StreamOf(nc), true, &conn.Config{StartupTimeout: askTime}, nil)
	defer c.Close()
	err = m.guard(func() error { return c.Connect(ctx, appendWhere(nil, number)) })
	var answer *mpa.RejectError
	return errors.As(err, &answer) && string(answer.PrivateData) == here
}
