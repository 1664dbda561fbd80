package hostile_test

import (
	"net/netip"
	"sync"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe/usertcp"
)

// A view contains what a test tells the attacker about a connection.
type view struct {
	src, dst netip.AddrPort // of the segments to the victim
	next     uint32         // RCV.NXT of the victim
	window   uint32         // RCV.WND of the victim, in bytes
	ack      uint32         // SND.NXT of the victim
	stamp    uint32         // the peer's last timestamp
	base     uint32         // sequence number of the first FPDU to the victim
}

// A watchedLink is the peer's end of a link to the victim. It follows one connection.
type watchedLink struct {
	usertcp.Link

	mu    sync.Mutex
	scale int // of the victim's window
	known bool
	view  view
}

// watch makes the link follow the connection that the peer opens next.
func (l *watchedLink) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view, l.known = view{}, false
}

func (l *watchedLink) now() view {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view
}

// Write looks at a packet of the peer.
func (l *watchedLink) Write(p []byte) (int, error) {
	if s, ok := parseRaw(p); ok {
		l.mu.Lock()
		v := &l.view
		switch {
		case s.flags&tcpSYN != 0 && !l.known:
			l.known, v.src, v.dst = true, s.src, s.dst
		case s.src == v.src && s.dst == v.dst:
			v.stamp, _, _ = s.timestampsOf()
			if v.base == 0 && len(s.payload) >= mpa.FrameHeaderLen { // the MPA Request
				if n, err := mpa.FrameLen(s.payload); err == nil {
					v.base = s.seq + uint32(n)
				}
			}
		}
		l.mu.Unlock()
	}
	return l.Link.Write(p)
}

// Read looks at a packet of the victim.
func (l *watchedLink) Read(p []byte) (int, error) {
	n, err := l.Link.Read(p)
	if s, ok := parseRaw(p[:n]); ok && err == nil {
		l.mu.Lock()
		if v := &l.view; s.src == v.dst && s.dst == v.src {
			if s.flags&tcpSYN != 0 {
				l.scale = windowScale(s.options)
			} else {
				v.next, v.window = s.ack, uint32(s.window)<<l.scale
			}
			v.ack = s.seq + uint32(len(s.payload))
		}
		l.mu.Unlock()
	}
	return n, err
}

// windowScale returns the shift of the window among the options of a SYN.
func windowScale(o []byte) int {
	for len(o) > 1 && o[0] != 0 {
		switch {
		case o[0] == 1:
			o = o[1:]
		case o[0] == 3 && len(o) > 2:
			return int(o[2])
		default:
			o = o[max(2, min(int(o[1]), len(o))):]
		}
	}
	return 0
}

// A countedLink is the victim's end of the link. It limits the number of the attacker's packets in
// flight.
type countedLink struct {
	usertcp.Link
	tokens chan struct{}
}

func (l *countedLink) Read(p []byte) (int, error) {
	n, err := l.Link.Read(p)
	if err == nil && p[8] == spoofedTTL {
		<-l.tokens
	}
	return n, err
}
