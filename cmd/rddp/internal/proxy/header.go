package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/admission"
)

// headerBuffer is the size of the buffer for the header. The library requires that the longest
// header of version 1 fits.
const headerBuffer = 256

// A header of version 2 may have 64 KiB, for example with client certificates. Only trusted sources
// send one.
func init() { proxyproto.MaxV2HeaderSize = math.MaxUint16 }

// A headedEnd is an end whose peer has sent a PROXY header. r buffers the bytes that arrived with
// it.
type headedEnd struct {
	end
	r *bufio.Reader
}

func (e *headedEnd) Read(b []byte) (int, error) { return e.r.Read(b) }

// hasHeader reports whether a connection from the address begins with a PROXY header. The source
// address decides that, not the first bytes, because any client can send such bytes.
func (c *Config) hasHeader(from net.Addr) bool {
	a, isTCP := from.(*net.TCPAddr)
	if !isTCP {
		return false
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("") // a prefix has no zone
	for _, p := range c.HeaderFrom {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// introduce reads the PROXY header from the accepted side and sends one to the other side, as far
// as the Config requires. It returns the accepted side for the pipe.
func (p *Proxy) introduce(ctx context.Context, from, to side, place *accept.Place, s *Summary) (side, error) {
	hasHeader := p.cfg.hasHeader(from.RemoteAddr())
	if !hasHeader && p.cfg.SendHeader == 0 {
		return from, nil
	}
	fromEnd, toEnd := from.end, to.end
	stop := context.AfterFunc(ctx, func() {
		fromEnd.abort()
		toEnd.abort()
	})
	from, err := p.passHeader(ctx, from, to, hasHeader, place, s)
	if !stop() && err == nil { // ctx has aborted the ends
		err = context.Cause(ctx)
	}
	return from, err
}

// passHeader is introduce for connections with a header.
func (p *Proxy) passHeader(ctx context.Context, from, to side, hasHeader bool, place *accept.Place, s *Summary) (side, error) {
	deadline := time.Now().Add(p.cfg.timeout())
	var h *proxyproto.Header
	if hasHeader {
		from.SetReadDeadline(deadline)
		r := bufio.NewReaderSize(from, headerBuffer)
		var err error
		if h, err = readHeader(r); err != nil {
			return from, fail(p.cause(ctx, err), "reading the PROXY header from %s", from.name)
		}
		from.SetReadDeadline(time.Time{})
		from.end = &headedEnd{end: from.end, r: r}
		if client, _, has := h.TCPAddrs(); has && !h.Command.IsLocal() {
			s.Via, s.From = s.From, client.String()
			place.Move(admission.SourceOf(client))
		}
	}
	if p.cfg.SendHeader == 0 {
		return from, nil
	}
	if h == nil {
		h = proxyproto.HeaderProxyFromAddrs(0, from.RemoteAddr(), from.LocalAddr())
	}
	h.Version = byte(p.cfg.SendHeader)
	to.SetWriteDeadline(deadline)
	if _, err := h.WriteTo(to); err != nil {
		return from, fail(p.cause(ctx, err), "sending the PROXY header to %s", to.name)
	}
	to.SetWriteDeadline(time.Time{})
	return from, nil
}

// readHeader reads a header. The library needs a whole header of version 1 at once, but TCP may
// split it.
func readHeader(r *bufio.Reader) (*proxyproto.Header, error) {
	if err := awaitLine(r); err != nil {
		return nil, err
	}
	return proxyproto.Read(r)
}

// maxLine is the maximum length in bytes of a header of version 1.
const maxLine = 107

// awaitLine waits until r has buffered the line of a version 1 header, or bytes that are not one.
func awaitLine(r *bufio.Reader) error {
	for n := 1; n <= maxLine; n = r.Buffered() + 1 {
		if _, err := r.Peek(n); errors.Is(err, io.EOF) && n > 1 {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		b, _ := r.Peek(r.Buffered()) // the buffered bytes
		if begin := proxyproto.SIGV1; !bytes.HasPrefix(b, begin[:min(len(begin), len(b))]) || bytes.IndexByte(b, '\n') >= 0 {
			return nil
		}
	}
	return nil
}

// ParsePrefix parses an IP address or a prefix for Config.HeaderFrom. It refuses prefixes from
// which no connection can come.
func ParsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if ip, notIP := netip.ParseAddr(s); notIP == nil {
		if ip.Zone() != "" {
			return p, fmt.Errorf("%q: a prefix has no zone: write %v, which is that address on every interface", s, ip.WithZone(""))
		}
		p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	if mapped := p.Addr().Is4In6(); err == nil && mapped && p.Bits() >= mappedBits { // connections over IPv4 have the IPv4 address
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
	}
	switch {
	case err != nil || p != p.Masked():
		return p, fmt.Errorf("%q is neither an IP address nor a prefix such as 192.0.2.0/24, without bits after it", s)
	case p.Addr().IsMulticast(), p.IsSingleIP() && p.Addr().IsUnspecified():
		return p, fmt.Errorf("%q: no connection comes from there", s)
	}
	return p, nil
}

// mappedBits is the length of the prefix of IPv4 addresses in IPv6.
const mappedBits = 96
