//go:build linux

package cm

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// A Caller is the program that sent a command.
type Caller interface {
	// Read reads the memory of the program.
	Read(b []byte, addr uint64) error
	// Channel returns the channel behind a descriptor of the program, or nil.
	Channel(fd uint32) *Channel
	// Site returns where the program creates or destroys an id, or nil if that is not known. It
	// does not wait.
	Site() check.Site
	// IsThere reports whether the thread that has sent the command is still at its Site, and waits
	// there for another thread to change something in the n bytes of memory at addr.
	IsThere(addr, n uint64) bool
}

// An answer is the output of a command, and the program's address for it.
type answer struct {
	at uint64
	b  []byte
}

// Do executes a command other than GET_EVENT. in is its input, and room the length of the program's
// buffer for the answer. Do returns the answer and the address of that buffer.
func (c *Channel) Do(caller Caller, cmd ucma.Command, in []byte, room int) (at uint64, out []byte, e syscall.Errno) {
	if !cmd.Exists() {
		return 0, nil, syscall.EINVAL
	}
	do := commands[cmd]
	if do == nil {
		return 0, nil, syscall.ENOSYS
	}
	if cmd == ucma.SetOption {
		caller = readOption(caller, in) // not under the lock, because that may wait for the program
	}
	c.cm.mu.Lock()
	defer c.cm.unlock()
	if c.closed {
		return 0, nil, syscall.EBADF
	}
	a, err := do(c, caller, in, room)
	if err != nil {
		c.cm.log.Info("rdma_cm command refused", "command", cmd.String(), "why", err)
	} else {
		c.cm.log.Debug("rdma_cm command", "command", cmd.String())
	}
	return a.at, a.b, uverbs.ErrnoOf(err)
}

// commands implement the commands. The caller holds the CM's mutex.
var commands = map[ucma.Command]func(c *Channel, caller Caller, in []byte, room int) (answer, error){
	ucma.CreateID:     (*Channel).createLocked,
	ucma.DestroyID:    (*Channel).destroyLocked,
	ucma.BindIP:       (*Channel).bindIPLocked,
	ucma.Bind:         (*Channel).bindLocked,
	ucma.ResolveIP:    (*Channel).resolveIPLocked,
	ucma.ResolveAddr:  (*Channel).resolveAddrLocked,
	ucma.ResolveRoute: (*Channel).resolveRouteLocked,
	ucma.QueryRoute:   (*Channel).queryRouteLocked,
	ucma.Query:        (*Channel).queryLocked,
	ucma.Connect:      (*Channel).connectLocked,
	ucma.Listen:       (*Channel).listenLocked,
	ucma.Accept:       (*Channel).acceptLocked,
	ucma.Reject:       (*Channel).rejectLocked,
	ucma.Disconnect:   (*Channel).disconnectLocked,
	ucma.InitQPAttr:   (*Channel).initQPAttrLocked,
	ucma.SetOption:    (*Channel).setOptionLocked,
	ucma.Notify:       (*Channel).notifyLocked,
	ucma.MigrateID:    (*Channel).migrateLocked,
	ucma.JoinIPMcast:  (*Channel).joinIPLocked,
	ucma.JoinMcast:    (*Channel).joinLocked,
	ucma.LeaveMcast:   (*Channel).leaveLocked,
}

// number returns an answer that consists of one number.
func number(at uint64, n uint32) answer { return answer{at, ucma.AppendNumber(nil, n)} }

// inputErrno is the error for input that is too short. The kernel would read past its end.
const inputErrno = syscall.EINVAL

// +checklocks:c.cm.mu
func (c *Channel) createLocked(by Caller, in []byte, room int) (a answer, err error) {
	r, err := ucma.ParseCreateID(in)
	switch {
	case room < 4:
		return a, syscall.ENOSPC
	case err != nil:
		return a, inputErrno
	case r.PortSpace != ucma.TCP && r.PortSpace != ucma.UDP && r.PortSpace != ucma.IB && r.PortSpace != ucma.IPoIB:
		return a, syscall.EINVAL
	}
	i := c.cm.newLocked(c, r.PortSpace, idle)
	i.uid = r.UID
	if c.cm.check != nil {
		c.cm.check.Makes(i.String(), "created", by.Site())
	}
	return number(r.Response, i.num), nil
}

// +checklocks:c.cm.mu
func (c *Channel) destroyLocked(by Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	if room < 4 {
		return a, syscall.ENOSPC
	}
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	i.destroy()
	i.checkAcks(by)
	return number(n.Response, i.reported), nil
}

const (
	// ackPatience is how long the destruction of an id may wait for a thread that acknowledges
	// its events.
	ackPatience = 500 * time.Millisecond
	// idLen is the length of the part of librdmacm's struct for an id in which that waits.
	idLen = 640
)

// checkAcks is the event that i has been destroyed. librdmacm waits until all events about it that
// the program has got are acknowledged.
func (i *id) checkAcks(by Caller) {
	k, name, uid, got := i.cm.check, i.String(), i.uid, i.reported
	if k == nil || got == 0 || by.Site() == nil {
		return
	}
	time.AfterFunc(ackPatience, func() {
		if by.IsThere(uid, idLen) {
			k.AddAt("at", by.Site(), check.HangsForEvents(name, got))
		}
	})
}

// +checklocks:c.cm.mu
func (c *Channel) bindIPLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.bindToLocked(ucma.ParseBindIP(in))
}

// +checklocks:c.cm.mu
func (c *Channel) bindLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.bindToLocked(ucma.ParseBind(in))
}

// +checklocks:c.cm.mu
func (c *Channel) bindToLocked(r ucma.BindRequest, err error) error {
	i, err := c.askedLocked(r.ID, err)
	switch {
	case err != nil:
		return err
	case i.state != idle:
		return uverbs.Refuse(syscall.EINVAL, "the id is %v, and binds only while it is idle", i.state)
	case r.Addr.IB: // a probe of the program for the address family
		i.become(bound)
		return nil
	case !r.Addr.IsValid():
		return uverbs.Refuse(syscall.EINVAL, "the address is neither of IPv4 nor of IPv6")
	}
	return i.bind(r.Addr.AddrPort)
}

// bind gives i a local address and port.
func (i *id) bind(a netip.AddrPort) error { return i.bindWith(a, i.ports() != noPorts) }

// bindSource is bind for an id that is going to connect. If any port will do, resolve chooses it.
func (i *id) bindSource(a netip.AddrPort) error {
	return i.bindWith(a, i.ports() != noPorts && a.Port() != 0)
}

// bindWith gives i a local address and, if takes is set, a port.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) bindWith(a netip.AddrPort, takes bool) error {
	switch {
	case a.Addr().IsUnspecified() || i.cm.dev.IsOwn(a.Addr().Unmap()):
	case isOurs(a.Addr().Unmap()):
		return uverbs.Refuse(syscall.ENODEV, "%v is an address of this host, but no GID of the device", a.Addr())
	default:
		return uverbs.Refuse(syscall.EADDRNOTAVAIL, "%v is no address of this host", a.Addr())
	}
	if takes {
		p, at, err := i.takePort(a)
		if err != nil {
			return err
		}
		i.port, a = p, at
	}
	i.src, i.near = a, !a.Addr().IsUnspecified()
	i.become(bound)
	return nil
}

// A portSpace is a set of port numbers.
type portSpace uint8

const (
	noPorts           portSpace = iota
	tcpPorts                    // of an RNIC's connections
	connectionNumbers           // of joined connections: see number.go
	datagramNumbers             // of datagrams
)

// ports returns the set from which i has its port.
func (i *id) ports() portSpace {
	switch {
	case i.space == ucma.IB:
		return noPorts
	case i.space.Datagrams():
		return datagramNumbers
	case i.cm.wire == softrnic.Plain:
		return tcpPorts
	}
	return connectionNumbers
}

// isFree returns the kernel's error if another id has the TCP port of a. The check is needed
// because two sockets that do not listen may share a port.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) isFree(a netip.AddrPort) syscall.Errno {
	me := holder{a.Addr(), i.afOnly}
	for _, other := range i.cm.ids {
		if a.Port() != 0 && other.port != nil && other.ports() == tcpPorts && other.src.Port() == a.Port() && !(i.reuse && other.reuse) {
			if e := me.conflict(holder{other.src.Addr(), other.afOnly}); e != 0 {
				return e
			}
		}
	}
	return 0
}

// takePort takes the port of a for i, or any if it is 0.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) takePort(a netip.AddrPort) (*port, netip.AddrPort, error) {
	var p *port
	var err error
	switch {
	case i.ports() == tcpPorts:
		if e := i.isFree(a); e != 0 {
			return nil, a, uverbs.Refuse(e, "port %d: another id of the device has it", a.Port())
		}
		p, a, err = reserve(a, false, i.afOnly)
	case a.Port() == 0:
		p, a, err = i.claimAny(a.Addr())
	default:
		p, err = claim(i.ports(), a, i.afOnly, i.reuse)
	}
	if err != nil {
		return nil, a, uverbs.Refuse(errnoOf(err, syscall.EADDRNOTAVAIL), "port %d: %v", a.Port(), err)
	}
	return p, a, nil
}

// isOurs reports whether a is an address of this host. All loopback addresses are.
func isOurs(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(x net.Addr) bool {
		n, ok := x.(*net.IPNet)
		return ok && n.IP.Equal(net.IP(a.AsSlice()))
	})
}

// errnoOf returns the error number in err, or other if it has none.
func errnoOf(err error, other syscall.Errno) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return other
}

// +checklocks:c.cm.mu
func (c *Channel) resolveIPLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.resolveToLocked(ucma.ParseResolveIP(in))
}

// +checklocks:c.cm.mu
func (c *Channel) resolveAddrLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.resolveToLocked(ucma.ParseResolveAddr(in))
}

// +checklocks:c.cm.mu
func (c *Channel) resolveToLocked(r ucma.Resolution, err error) error {
	i, err := c.askedLocked(r.ID, err)
	switch {
	case err != nil:
		return err
	case i.state != idle && i.state != bound:
		return uverbs.Refuse(syscall.EINVAL, "the id is %v, and resolves an address only while it is idle or bound", i.state)
	case !r.Dst.IsValid():
		return uverbs.Refuse(syscall.EINVAL, "the address is neither of IPv4 nor of IPv6")
	case r.Src.IsValid() && r.Src.Addr().BitLen() != r.Dst.Addr().BitLen():
		return uverbs.Refuse(syscall.EINVAL, "%v and %v are of different families", r.Src.Addr(), r.Dst.Addr())
	}
	if i.state == idle && r.Src.IsValid() {
		if err := i.bindSource(r.Src.AddrPort); err != nil {
			return err
		}
	}
	i.resolve(r.Dst.AddrPort)
	return nil
}

// resolve finds the local address for the peer's address, and reports the outcome in an event.
func (i *id) resolve(dst netip.AddrPort) {
	if dst.Addr().IsUnspecified() { // this host, as in the kernel
		loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if dst.Addr().Is6() {
			loopback = netip.IPv6Loopback()
		}
		dst = netip.AddrPortFrom(loopback, dst.Port())
	}
	if !i.near {
		a, err := sourceFor(dst.Addr())
		if err != nil || !i.cm.dev.IsOwn(a) {
			i.tell(ucma.AddrError, syscall.ENODEV, ucma.ConnParam{})
			return
		}
		i.src, i.near = netip.AddrPortFrom(a, i.src.Port()), true
	}
	if i.src.Port() == 0 { // the program may query the port
		switch i.ports() {
		case tcpPorts:
			if p, at, err := reserve(i.src, false, false); err == nil {
				i.port, i.src = p, at
			}
		case connectionNumbers, datagramNumbers: // nobody connects to it, so it need not be claimed
			i.src = netip.AddrPortFrom(i.src.Addr(), i.freeNumber())
		}
	}
	i.dst = dst
	i.become(addressed)
	i.tell(ucma.AddrResolved, 0, ucma.ConnParam{})
}

// +checklocks:c.cm.mu
func (c *Channel) resolveRouteLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	n, err := ucma.ParsePlain(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	if i.state != addressed {
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and resolves a route only once its address is resolved", i.state)
	}
	i.become(routed)
	i.tell(ucma.RouteResolved, 0, ucma.ConnParam{})
	return a, nil
}

// route returns the answer to QUERY and QUERY_ROUTE.
func (i *id) route() ucma.Route {
	r := ucma.Route{Src: i.src, Dst: i.dst}
	if i.near {
		r.GUID = i.cm.dev.GUID()
	}
	return r
}

// +checklocks:c.cm.mu
func (c *Channel) queryRouteLocked(_ Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	r := i.route()
	return fit(n.Response, r.AppendRoute(nil), room, 200)
}

// +checklocks:c.cm.mu
func (c *Channel) queryLocked(_ Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	r := i.route()
	switch n.Other {
	case ucma.QueryAddr:
		return fit(n.Response, r.AppendAddr(nil), room, 272)
	case ucma.QueryPath:
		return fit(n.Response, ucma.AppendPaths(nil), room, 8)
	case ucma.QueryGID:
		return fit(n.Response, r.AppendGIDs(nil), room, 272)
	}
	return a, syscall.ENOSYS
}

// fit returns as much of an answer as fits into room. It fails if that is less than n, the length
// that older programs expect.
func fit(at uint64, b []byte, room, n int) (answer, error) {
	if room < n {
		return answer{}, syscall.ENOSPC
	}
	return answer{at, b[:min(len(b), room)]}, nil
}

// +checklocks:c.cm.mu
func (c *Channel) initQPAttrLocked(_ Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	const states = 7
	if err == nil && n.Other >= states {
		return a, syscall.EINVAL
	}
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	if !i.near {
		return a, uverbs.Refuse(syscall.EINVAL, "the id has no device yet: it has neither an address of one nor a resolved one")
	}
	if i.space.Datagrams() {
		return fit(n.Response, ucma.AppendInitDatagramQPAttr(nil, n.Other), room, uverbs.AttributesLen)
	}
	mask, attrs, ok := i.initQPAttr(uverbs.State(n.Other))
	if !ok {
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, which has no attributes for %v", i.state, uverbs.State(n.Other))
	}
	return fit(n.Response, uverbs.AppendAttributes(nil, mask, &attrs), room, uverbs.AttributesLen)
}

// An option is the caller of SET_OPTION, whose value has been read.
type option struct {
	Caller
	value [4]byte
	err   error
}

// readOption reads the value that a SET_OPTION names.
func readOption(caller Caller, in []byte) *option {
	r := &option{Caller: caller}
	if o, err := ucma.ParseSetOption(in); err == nil && o.Len <= uint32(len(r.value)) {
		r.err = caller.Read(r.value[:o.Len], o.Value)
	}
	return r
}

// Read returns the value.
func (o *option) Read(b []byte, _ uint64) error {
	copy(b, o.value[:])
	return o.err
}

// +checklocks:c.cm.mu
func (c *Channel) setOptionLocked(caller Caller, in []byte, _ int) (a answer, err error) {
	o, err := ucma.ParseSetOption(in)
	i, err := c.askedLocked(o.ID, err)
	if err != nil {
		return a, err
	}
	n := uint32(4)
	switch {
	case o.Level == ucma.LevelIB && o.Name == ucma.OptionPath:
		return a, syscall.EINVAL // the device has no paths
	case o.Level != ucma.LevelID || o.Name > ucma.OptionAckTimeout:
		return a, syscall.ENOSYS
	case o.Name == ucma.OptionTOS || o.Name == ucma.OptionAckTimeout:
		n = 1
	}
	if o.Len != n {
		return a, syscall.EINVAL
	}
	var v [4]byte
	if caller.Read(v[:n], o.Value) != nil {
		return a, syscall.EFAULT
	}
	on := v != [4]byte{}
	switch o.Name {
	case ucma.OptionTOS:
		i.trafficClass = v[0]
	case ucma.OptionAckTimeout:
		if i.space.Datagrams() {
			return a, syscall.EINVAL
		}
		i.ackTimeout = int(v[0])
	case ucma.OptionReuse:
		if i.state == listening || i.state != idle && !on {
			return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, where RDMA_OPTION_ID_REUSEADDR cannot become %t", i.state, on)
		}
		i.reuse = on
	case ucma.OptionAFOnly:
		if i.state != idle && i.state != bound {
			return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, where RDMA_OPTION_ID_AFONLY cannot change", i.state)
		}
		i.afOnly = on
	}
	return a, nil
}

// +checklocks:c.cm.mu
func (c *Channel) notifyLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	n, err := ucma.ParsePlain(in)
	i, err := c.askedLocked(n.ID, err)
	if err == nil && !i.wasThere && i.state != connecting {
		err = uverbs.Refuse(syscall.EINVAL, "the id is %v, not connecting", i.state)
	}
	return a, err // the device needs no notification to know that the connection is established
}

// +checklocks:c.cm.mu
func (c *Channel) migrateLocked(caller Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	if room < 4 {
		return a, syscall.ENOSPC
	}
	if err != nil {
		return a, inputErrno
	}
	from := caller.Channel(n.Other)
	if from == nil {
		return a, syscall.EINVAL
	}
	i := c.cm.ids[n.ID]
	switch {
	case i == nil:
		return a, syscall.ENOENT
	case i.ch != from:
		return a, syscall.EINVAL
	}
	if from != c {
		moved := from.removeLocked(i)
		i.ch = c
		for _, v := range moved {
			if v.child != nil {
				v.child.ch = c
			}
			c.addLocked(v)
		}
	}
	return number(n.Response, i.reported), nil
}
