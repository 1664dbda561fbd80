package uverbs

import (
	"errors"
	"fmt"
	"syscall"
)

// A Handler executes the commands of a program that has opened the device. Inputs and results are
// Go values. A handle is the number of an object. An error is a syscall.Errno, which the
// program gets as it is, or a Refusal.
type Handler interface {
	// GetContext and CreateCompChannel make the channel for asynchronous events, and one for
	// completions. They return its descriptor in the program.
	GetContext() (fd uint32, err error)
	CreateCompChannel() (fd uint32, err error)
	QueryDevice() Device
	// QueryPort returns the length of the port's table of GIDs.
	QueryPort(port uint8) (gids uint32, err error)

	AllocPD() (handle uint32)
	DeallocPD(handle uint32) error
	CreateAH(pd uint32, a Address) (handle uint32, err error)
	DestroyAH(handle uint32) error
	// RegMR and ReregMR return the keys of the MR, which ReregMR replaces.
	RegMR(m MemoryRegion) (handle uint32, k Keys, err error)
	ReregMR(m MemoryRegion) (k Keys, err error)
	DeregMR(handle uint32) error
	AllocMW(w MemoryWindow) (handle, key uint32, err error)
	DeallocMW(handle uint32) error

	// CreateCQ and ResizeCQ return how many entries the queue has, and where its ring is.
	CreateCQ(q CQ) (handle, entries uint32, at Mapping, err error)
	ResizeCQ(handle, entries uint32) (has uint32, at Mapping, err error)
	ReqNotifyCQ(handle uint32, solicitedOnly bool) error
	// DestroyCQ, DestroyQP and DestroySRQ return how many events about the object the program has
	// read. The program waits until it has acknowledged that number.
	DestroyCQ(handle uint32) (completions, asynchronous uint32, err error)

	CreateQP(q QP) (CreatedQP, error)
	QueryQP(handle uint32) (QPState, error)
	ModifyQP(c Change) error
	DestroyQP(handle uint32) (events uint32, err error)

	// CreateSRQ returns how many entries the queue has, and where its ring is.
	CreateSRQ(q SRQ) (handle, entries uint32, at Mapping, err error)
	// ModifySRQ writes the Mapping of a ring of another size to the address to. Without such an
	// address hasTo is false.
	ModifySRQ(c SRQChange, to uint64, hasTo bool) error
	QuerySRQ(handle uint32) (SRQState, error)
	DestroySRQ(handle uint32) (events uint32, err error)
}

// A Refusal is the error of a command that breaks a rule.
type Refusal struct {
	Errno syscall.Errno // what the program gets
	Rule  string        // in words of verbs
}

// Refuse returns a Refusal.
func Refuse(e syscall.Errno, format string, args ...any) error {
	return &Refusal{e, fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string { return r.Errno.Error() + ": " + r.Rule }
func (r *Refusal) Unwrap() error { return r.Errno }

// ErrnoOf returns what the program gets for an error of Execute. It is 0 for nil.
func ErrnoOf(err error) syscall.Errno {
	var e syscall.Errno
	if err != nil && !errors.As(err, &e) {
		return syscall.EIO
	}
	return e
}

// Execute parses the input of a command, executes it by h, and returns its answer and the
// provider's answer. in is the input, and driverIn the provider's input. Input that is too short is
// EINVAL, and an unknown command is EOPNOTSUPP. An error is a syscall.Errno or a Refusal.
func Execute(h Handler, cmd Command, in, driverIn []byte) (out, driverOut []byte, err error) {
	do := executors[cmd]
	if do == nil {
		return nil, nil, syscall.EOPNOTSUPP
	}
	c := call{in: in, driverIn: driverIn, extended: cmd&Extended != 0}
	if err := do(h, &c); err != nil {
		return nil, nil, err
	}
	return c.out, c.driverOut, nil
}

// A call is a command that is being executed.
type call struct {
	in, driverIn   []byte
	extended       bool
	out, driverOut []byte
}

// answers sets the answer to numbers.
func (c *call) answers(words ...uint32) { c.out = AppendWords(nil, words...) }

// maps tells the provider where a ring is.
func (c *call) maps(at Mapping) { c.driverOut = at.AppendTo(nil) }

var executors = map[Command]func(Handler, *call) error{
	GetContext:             getContext,
	QueryDevice:            queryDevice,
	QueryDevice | Extended: queryDevice,
	QueryPort:              queryPort,
	AllocPD:                allocPD,
	DeallocPD:              onHandle(Handler.DeallocPD),
	CreateAH:               createAH,
	DestroyAH:              onHandle(Handler.DestroyAH),
	RegMR:                  regMR,
	ReregMR:                reregMR,
	DeregMR:                onHandle(Handler.DeregMR),
	AllocMW:                allocMW,
	DeallocMW:              onHandle(Handler.DeallocMW),
	CreateCompChannel:      createCompChannel,
	CreateCQ:               createCQ,
	CreateCQ | Extended:    createCQ,
	ResizeCQ:               resizeCQ,
	DestroyCQ:              destroyCQ,
	ReqNotifyCQ:            reqNotifyCQ,
	CreateQP:               createQP,
	CreateQP | Extended:    createQP,
	QueryQP:                queryQP,
	ModifyQP:               modifyQP,
	ModifyQP | Extended:    modifyQP,
	DestroyQP:              destroys(Handler.DestroyQP),
	CreateSRQ:              createSRQ,
	ModifySRQ:              modifySRQ,
	QuerySRQ:               querySRQ,
	DestroySRQ:             destroys(Handler.DestroySRQ),
}

// onHandle executes a command without an answer whose input is a handle.
func onHandle(do func(Handler, uint32) error) func(Handler, *call) error {
	return func(h Handler, c *call) error {
		n, err := parseHandle(c.in)
		if err != nil {
			return syscall.EINVAL
		}
		return do(h, n)
	}
}

// destroys executes a command that destroys an object that has events.
func destroys(do func(Handler, uint32) (uint32, error)) func(Handler, *call) error {
	return func(h Handler, c *call) error {
		n, err := parseAnsweredHandle(c.in)
		if err != nil {
			return syscall.EINVAL
		}
		events, err := do(h, n)
		c.answers(events)
		return err
	}
}

func getContext(h Handler, c *call) error {
	const vectors = 1 // of completions
	fd, err := h.GetContext()
	c.answers(fd, vectors)
	return err
}

func createCompChannel(h Handler, c *call) error {
	fd, err := h.CreateCompChannel()
	c.answers(fd)
	return err
}

func queryDevice(h Handler, c *call) error {
	d := h.QueryDevice()
	c.out = appendDevice(nil, &d, c.extended)
	return nil
}

func queryPort(h Handler, c *call) error {
	port, err := parsePort(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	gids, err := h.QueryPort(port)
	c.out = appendPort(nil, gids)
	return err
}

func allocPD(h Handler, c *call) error {
	c.answers(h.AllocPD())
	return nil
}

func createAH(h Handler, c *call) error {
	pd, a, err := parseCreateAH(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, err := h.CreateAH(pd, a)
	c.answers(n)
	c.driverOut = AppendWords(nil, n, 0)
	return err
}

func regMR(h Handler, c *call) error {
	m, err := parseRegMR(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, k, err := h.RegMR(m)
	c.answers(n, k.Local, k.Remote)
	return err
}

func reregMR(h Handler, c *call) error {
	m, err := parseReregMR(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	k, err := h.ReregMR(m)
	c.answers(k.Local, k.Remote)
	return err
}

func allocMW(h Handler, c *call) error {
	w, err := parseAllocMW(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, key, err := h.AllocMW(w)
	c.answers(n, key)
	return err
}

func createCQ(h Handler, c *call) error {
	q, err := parseCreateCQ(c.in, c.extended)
	if err != nil {
		return syscall.EINVAL
	}
	n, entries, at, err := h.CreateCQ(q)
	c.answers(n, entries)
	c.maps(at)
	if c.extended {
		c.out = appendExtension(c.out)
	}
	return err
}

func resizeCQ(h Handler, c *call) error {
	n, entries, err := parseResizeCQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	entries, at, err := h.ResizeCQ(n, entries)
	c.answers(entries, 0)
	c.maps(at)
	return err
}

func reqNotifyCQ(h Handler, c *call) error {
	n, solicitedOnly, err := parseReqNotify(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	return h.ReqNotifyCQ(n, solicitedOnly)
}

func destroyCQ(h Handler, c *call) error {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	completions, asynchronous, err := h.DestroyCQ(n)
	c.answers(completions, asynchronous)
	return err
}

func createQP(h Handler, c *call) error {
	q, err := parseCreateQP(c.in, c.extended)
	if err != nil {
		return syscall.EINVAL
	}
	a, err := h.CreateQP(q)
	c.out = appendCreateQP(nil, a.Handle, a.Num, a.Caps)
	if c.extended {
		c.out = appendExtension(AppendWords(c.out, 0))
	}
	c.driverOut = a.SQ.AppendTo(a.RQ.AppendTo(nil))
	return err
}

func queryQP(h Handler, c *call) error {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	s, err := h.QueryQP(n)
	c.out = appendQueryQP(nil, &s)
	return err
}

func modifyQP(h Handler, c *call) error {
	to, err := parseModifyQP(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	if c.extended {
		c.out = appendExtension(nil)
	}
	return h.ModifyQP(to)
}

func createSRQ(h Handler, c *call) error {
	q, err := parseCreateSRQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, entries, at, err := h.CreateSRQ(q)
	c.answers(n, entries, q.MaxSGE, n)
	c.driverOut = AppendWords(at.AppendTo(nil), n, 0)
	return err
}

func modifySRQ(h Handler, c *call) error {
	to, err := parseModifySRQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	at, err := parseModifySRQDriver(c.driverIn)
	return h.ModifySRQ(to, at, err == nil)
}

func querySRQ(h Handler, c *call) error {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	s, err := h.QuerySRQ(n)
	c.answers(s.MaxWR, s.MaxSGE, s.Limit, 0)
	return err
}
