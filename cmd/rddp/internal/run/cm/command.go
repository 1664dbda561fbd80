//go:build linux

package cm

import (
	"errors"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
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

// errnoOf returns the error number in err, or other if it has none.
func errnoOf(err error, other syscall.Errno) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return other
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
