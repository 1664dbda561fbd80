package uverbs

import "syscall"

// A Handler executes the commands of a program that has opened the device. Inputs and results are
// Go values. A handle is the number of an object. The program gets the errors as they are.
type Handler interface {
	// GetContext and CreateCompChannel make the channel for asynchronous events, and one for
	// completions. They return its descriptor in the program.
	GetContext() (fd uint32, e syscall.Errno)
	CreateCompChannel() (fd uint32, e syscall.Errno)
	QueryDevice() Device
	// QueryPort returns the length of the port's table of GIDs.
	QueryPort(port uint8) (gids uint32, e syscall.Errno)

	AllocPD() (handle uint32)
	DeallocPD(handle uint32) syscall.Errno
	CreateAH(pd uint32, a Address) (handle uint32, e syscall.Errno)
	DestroyAH(handle uint32) syscall.Errno
	// RegMR returns the key of the MR, which is both its lkey and its rkey. ReregMR replaces it.
	RegMR(m MemoryRegion) (handle, key uint32, e syscall.Errno)
	ReregMR(m MemoryRegion) (key uint32, e syscall.Errno)
	DeregMR(handle uint32) syscall.Errno
	AllocMW(w MemoryWindow) (handle, key uint32, e syscall.Errno)
	DeallocMW(handle uint32) syscall.Errno

	// CreateCQ and ResizeCQ return how many entries the queue has, and where its ring is.
	CreateCQ(q CQ) (handle, entries uint32, at Mapping, e syscall.Errno)
	ResizeCQ(handle, entries uint32) (has uint32, at Mapping, e syscall.Errno)
	ReqNotifyCQ(handle uint32, solicitedOnly bool) syscall.Errno
	// DestroyCQ, DestroyQP and DestroySRQ return how many events about the object the program has
	// read. The program waits until it has acknowledged that number.
	DestroyCQ(handle uint32) (completions, asynchronous uint32, e syscall.Errno)

	CreateQP(q QP) (CreatedQP, syscall.Errno)
	QueryQP(handle uint32) (QPState, syscall.Errno)
	ModifyQP(c Change) syscall.Errno
	DestroyQP(handle uint32) (events uint32, e syscall.Errno)

	// CreateSRQ returns how many entries the queue has, and where its ring is.
	CreateSRQ(q SRQ) (handle, entries uint32, at Mapping, e syscall.Errno)
	// ModifySRQ writes the Mapping of a ring of another size to the address to. Without such an
	// address hasTo is false.
	ModifySRQ(c SRQChange, to uint64, hasTo bool) syscall.Errno
	QuerySRQ(handle uint32) (SRQState, syscall.Errno)
	DestroySRQ(handle uint32) (events uint32, e syscall.Errno)
}

// Execute parses the input of a command, executes it by h, and returns its answer and the
// provider's answer. in is the input, and driverIn the provider's input. Input that is too short is
// EINVAL, and an unknown command is EOPNOTSUPP.
func Execute(h Handler, cmd Command, in, driverIn []byte) (out, driverOut []byte, e syscall.Errno) {
	do := executors[cmd]
	if do == nil {
		return nil, nil, syscall.EOPNOTSUPP
	}
	c := call{in: in, driverIn: driverIn, extended: cmd&Extended != 0}
	if e := do(h, &c); e != 0 {
		return nil, nil, e
	}
	return c.out, c.driverOut, 0
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

var executors = map[Command]func(Handler, *call) syscall.Errno{
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
func onHandle(do func(Handler, uint32) syscall.Errno) func(Handler, *call) syscall.Errno {
	return func(h Handler, c *call) syscall.Errno {
		n, err := parseHandle(c.in)
		if err != nil {
			return syscall.EINVAL
		}
		return do(h, n)
	}
}

// destroys executes a command that destroys an object that has events.
func destroys(do func(Handler, uint32) (uint32, syscall.Errno)) func(Handler, *call) syscall.Errno {
	return func(h Handler, c *call) syscall.Errno {
		n, err := parseAnsweredHandle(c.in)
		if err != nil {
			return syscall.EINVAL
		}
		events, e := do(h, n)
		c.answers(events)
		return e
	}
}

func getContext(h Handler, c *call) syscall.Errno {
	const vectors = 1 // of completions
	fd, e := h.GetContext()
	c.answers(fd, vectors)
	return e
}

func createCompChannel(h Handler, c *call) syscall.Errno {
	fd, e := h.CreateCompChannel()
	c.answers(fd)
	return e
}

func queryDevice(h Handler, c *call) syscall.Errno {
	d := h.QueryDevice()
	c.out = appendDevice(nil, &d, c.extended)
	return 0
}

func queryPort(h Handler, c *call) syscall.Errno {
	port, err := parsePort(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	gids, e := h.QueryPort(port)
	c.out = appendPort(nil, gids)
	return e
}

func allocPD(h Handler, c *call) syscall.Errno {
	c.answers(h.AllocPD())
	return 0
}

func createAH(h Handler, c *call) syscall.Errno {
	pd, a, err := parseCreateAH(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, e := h.CreateAH(pd, a)
	c.answers(n)
	c.driverOut = AppendWords(nil, n, 0)
	return e
}

func regMR(h Handler, c *call) syscall.Errno {
	m, err := parseRegMR(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, key, e := h.RegMR(m)
	c.answers(n, key, key)
	return e
}

func reregMR(h Handler, c *call) syscall.Errno {
	m, err := parseReregMR(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	key, e := h.ReregMR(m)
	c.answers(key, key)
	return e
}

func allocMW(h Handler, c *call) syscall.Errno {
	w, err := parseAllocMW(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, key, e := h.AllocMW(w)
	c.answers(n, key)
	return e
}

func createCQ(h Handler, c *call) syscall.Errno {
	q, err := parseCreateCQ(c.in, c.extended)
	if err != nil {
		return syscall.EINVAL
	}
	n, entries, at, e := h.CreateCQ(q)
	c.answers(n, entries)
	c.maps(at)
	if c.extended {
		c.out = appendExtension(c.out)
	}
	return e
}

func resizeCQ(h Handler, c *call) syscall.Errno {
	n, entries, err := parseResizeCQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	entries, at, e := h.ResizeCQ(n, entries)
	c.answers(entries, 0)
	c.maps(at)
	return e
}

func reqNotifyCQ(h Handler, c *call) syscall.Errno {
	n, solicitedOnly, err := parseReqNotify(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	return h.ReqNotifyCQ(n, solicitedOnly)
}

func destroyCQ(h Handler, c *call) syscall.Errno {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	completions, asynchronous, e := h.DestroyCQ(n)
	c.answers(completions, asynchronous)
	return e
}

func createQP(h Handler, c *call) syscall.Errno {
	q, err := parseCreateQP(c.in, c.extended)
	if err != nil {
		return syscall.EINVAL
	}
	a, e := h.CreateQP(q)
	c.out = appendCreateQP(nil, a.Handle, a.Num, a.Caps)
	if c.extended {
		c.out = appendExtension(AppendWords(c.out, 0))
	}
	c.driverOut = a.SQ.AppendTo(a.RQ.AppendTo(nil))
	return e
}

func queryQP(h Handler, c *call) syscall.Errno {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	s, e := h.QueryQP(n)
	c.out = appendQueryQP(nil, &s)
	return e
}

func modifyQP(h Handler, c *call) syscall.Errno {
	to, err := parseModifyQP(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	if c.extended {
		c.out = appendExtension(nil)
	}
	return h.ModifyQP(to)
}

func createSRQ(h Handler, c *call) syscall.Errno {
	q, err := parseCreateSRQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	n, entries, at, e := h.CreateSRQ(q)
	c.answers(n, entries, q.MaxSGE, n)
	c.driverOut = AppendWords(at.AppendTo(nil), n, 0)
	return e
}

func modifySRQ(h Handler, c *call) syscall.Errno {
	to, err := parseModifySRQ(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	at, err := parseModifySRQDriver(c.driverIn)
	return h.ModifySRQ(to, at, err == nil)
}

func querySRQ(h Handler, c *call) syscall.Errno {
	n, err := parseAnsweredHandle(c.in)
	if err != nil {
		return syscall.EINVAL
	}
	s, e := h.QuerySRQ(n)
	c.answers(s.MaxWR, s.MaxSGE, s.Limit, 0)
	return e
}
