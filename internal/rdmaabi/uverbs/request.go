package uverbs

import "fmt"

// This file is the program's side: it makes the commands that the rest of the package parses, and
// parses the answers. Commands contain 0 as the address of their answer, because an ioctl has the
// address in an attribute.

// The numbers of drivers. A device refuses an ioctl with the number of another.
const (
	DriverRXE = 14
	DriverSIW = 18
)

// AppendIoctl appends the ioctl that carries v for a driver.
func AppendIoctl(b []byte, v *Invocation, driver uint32) []byte {
	b, _ = extend(b, HeaderLen)
	n := 0
	attr := func(id, size uint16, data uint64) {
		b = le.AppendUint16(b, id)
		b = le.AppendUint16(b, size)
		b = le.AppendUint32(b, 1) // the kernel must know it
		b = le.AppendUint64(b, data)
		n++
	}
	attr(attrCommand, 8, uint64(v.Command))
	for _, a := range []struct {
		id uint16
		s  Span
	}{{attrCoreIn, v.In}, {attrDriverIn, v.DriverIn}, {attrCoreOut, v.Out}, {attrDriverOut, v.DriverOut}} {
		if a.s.Len > 0 {
			attr(a.id, uint16(a.s.Len), a.s.Addr)
		}
	}
	h := b[len(b)-n*AttrLen-HeaderLen:]
	le.PutUint16(h, uint16(HeaderLen+n*AttrLen))
	le.PutUint16(h[2:], InvokeWrite.Object)
	le.PutUint16(h[4:], InvokeWrite.ID)
	le.PutUint16(h[6:], uint16(n))
	le.PutUint32(h[16:], driver)
	return b
}

// AppendAnswered appends the input of a command that has an answer and consists of numbers.
func AppendAnswered(b []byte, words ...uint32) []byte {
	return AppendWords(append(b, make([]byte, responseLen)...), words...)
}

// AppendTo appends the input of REG_MR.
func (m *MemoryRegion) AppendTo(b []byte) []byte {
	b = append(b, make([]byte, responseLen)...)
	for _, v := range [...]uint64{m.Start, m.Len, m.VA} {
		b = le.AppendUint64(b, v)
	}
	return AppendWords(b, m.PD, uint32(m.Access))
}

// AppendTo appends the input of CREATE_CQ.
func (c *CQ) AppendTo(b []byte) []byte {
	b = le.AppendUint64(append(b, make([]byte, responseLen)...), c.UserHandle)
	return AppendWords(b, c.CQE, c.Vector, uint32(c.Channel), 0)
}

// AppendTo appends the input of CREATE_QP.
func (q *QP) AppendTo(b []byte) []byte {
	b, o := extend(b, responseLen+48)
	o = o[responseLen:]
	le.PutUint64(o, q.UserHandle)
	le.PutUint32(o[8:], q.PD)
	le.PutUint32(o[12:], q.SendCQ)
	le.PutUint32(o[16:], q.RecvCQ)
	q.Caps.put(o[24:])
	if q.SignalAll {
		o[44] = 1
	}
	o[45] = byte(q.Type)
	return b
}

// AppendTo appends the input of MODIFY_QP.
func (c *Change) AppendTo(b []byte) []byte {
	b, o := extend(b, 112)
	a := &c.To
	a.Address.put(o)
	a.AltAddress.put(o[addressLen:])
	for i, v := range [...]uint32{c.Handle, uint32(c.Mask), a.QKey, a.RQPSN, a.SQPSN, a.DestQPN, uint32(a.Access)} {
		le.PutUint32(o[64+4*i:], v)
	}
	le.PutUint16(o[92:], a.PKey)
	le.PutUint16(o[94:], a.AltPKey)
	o[96], o[97], o[98], o[99], o[101], o[102] = byte(a.State), byte(a.CurState), a.MTU, a.PathMig, a.MaxRead, a.MaxDestRead
	o[103], o[104], o[105], o[106], o[107], o[108], o[109] = a.MinRNRTimer, a.Port, a.Timeout, a.Retry, a.RNRRetry, a.AltPort, a.AltTimeout
	if a.SQDNotify {
		o[100] = 1
	}
	return b
}

// AttributesLen is the length in bytes of the answer of rdma_cm to INIT_QP_ATTR.
const AttributesLen = 144

// ParseAttributes parses the answer of rdma_cm to INIT_QP_ATTR: the attributes to set on a queue
// pair, and their mask for a Change.
func ParseAttributes(b []byte) (mask Mask, a Attributes, err error) {
	if len(b) < AttributesLen {
		return 0, a, ErrShort
	}
	a = Attributes{
		Address: parsePath(b[40:]), AltAddress: parsePath(b[40+addressLen:]),
		QKey: le.Uint32(b[20:]), RQPSN: le.Uint32(b[24:]), SQPSN: le.Uint32(b[28:]), DestQPN: le.Uint32(b[32:]), Access: Access(le.Uint32(b[36:])),
		PKey: le.Uint16(b[124:]), AltPKey: le.Uint16(b[126:]), State: State(b[4]), CurState: State(b[8]), MTU: b[12], PathMig: b[16],
		MaxRead: b[130], MaxDestRead: b[131], MinRNRTimer: b[132], Port: b[133], Timeout: b[134], Retry: b[135], RNRRetry: b[136],
		AltPort: b[137], AltTimeout: b[138],
	}
	return Mask(le.Uint32(b)), a, nil
}

// AppendAttributes appends the answer that ParseAttributes parses.
func AppendAttributes(b []byte, mask Mask, a *Attributes) []byte {
	b, o := extend(b, AttributesLen)
	for i, v := range [...]uint32{
		uint32(mask), uint32(a.State), uint32(a.CurState), uint32(a.MTU), uint32(a.PathMig), a.QKey, a.RQPSN, a.SQPSN, a.DestQPN, uint32(a.Access),
	} {
		le.PutUint32(o[4*i:], v)
	}
	a.Address.putPath(o[40:])
	a.AltAddress.putPath(o[40+addressLen:])
	le.PutUint16(o[124:], a.PKey)
	le.PutUint16(o[126:], a.AltPKey)
	o[130], o[131], o[132], o[133], o[134], o[135], o[136] = a.MaxRead, a.MaxDestRead, a.MinRNRTimer, a.Port, a.Timeout, a.Retry, a.RNRRetry
	o[137], o[138] = a.AltPort, a.AltTimeout
	return b
}

// putPath writes an address in the form that parsePath parses.
func (a *Address) putPath(b []byte) {
	copy(b, a.DGID[:])
	le.PutUint32(b[16:], a.Flow)
	b[20], b[21], b[22] = a.SGIDIndex, a.HopLimit, a.TrafficClass
	le.PutUint16(b[24:], a.DLID)
	b[26], b[27], b[28], b[30] = a.SL, a.SrcPath, a.StaticRate, a.Port
	if a.Global {
		b[29] = 1
	}
}

// parsePath parses an address in the form of INIT_QP_ATTR, whose fields have another order than
// those of MODIFY_QP.
func parsePath(b []byte) (a Address) {
	copy(a.DGID[:], b)
	a.Flow, a.SGIDIndex, a.HopLimit, a.TrafficClass = le.Uint32(b[16:]), b[20], b[21], b[22]
	a.DLID, a.SL, a.SrcPath, a.StaticRate, a.Global, a.Port = le.Uint16(b[24:]), b[26], b[27], b[28], b[29] != 0, b[30]
	return a
}

// AppendDoorbell appends the write which reports that work requests are in the send queue of a QP:
// POST_SEND without a work request. response is memory of 4 bytes for its answer.
func AppendDoorbell(b []byte, qp uint32, response uint64) []byte {
	const words, answerWords, wqe = PostSendLen / 4, 1, 128
	b = AppendWords(b, postSend, words|answerWords<<16)
	b = le.AppendUint64(b, response)
	return AppendWords(b, qp, 0, 0, wqe)
}

// Lengths of answers in bytes.
const (
	DeviceLen   = deviceLen
	CreateQPLen = 32
	MappingLen  = 16
	EventLen    = 8
	AsyncLen    = asyncEventLen
)

// ParseWords parses an answer that consists of numbers. It fills words.
func ParseWords(b []byte, words ...*uint32) error {
	if len(b) < 4*len(words) {
		return ErrShort
	}
	for i, w := range words {
		*w = le.Uint32(b[4*i:])
	}
	return nil
}

// ParseDevice parses the answer to QUERY_DEVICE, except the fields that do not matter to a program
// with connected queue pairs.
func ParseDevice(b []byte) (d Device, err error) {
	if len(b) < deviceLen {
		return d, ErrShort
	}
	copy(d.GUID[:], b[8:])
	d.MaxMRSize = le.Uint64(b[24:])
	for i, v := range [...]*uint32{
		&d.VendorID, &d.PartID, &d.Hardware, &d.MaxQP, &d.MaxQPWR, &d.Caps, &d.MaxSGE, &d.MaxReadSGE, &d.MaxCQ, &d.MaxCQE, &d.MaxMR, &d.MaxPD,
		&d.MaxRead, nil, nil, nil, nil, &d.Atomics,
	} {
		if v != nil {
			*v = le.Uint32(b[40+4*i:])
		}
	}
	return d, nil
}

// ParseCreatedQP parses the answer to CREATE_QP.
func ParseCreatedQP(b []byte) (handle, qpn uint32, c Caps, err error) {
	if len(b) < CreateQPLen {
		return 0, 0, c, ErrShort
	}
	return le.Uint32(b), le.Uint32(b[4:]), parseCaps(b[8:]), nil
}

// maxMapping is the maximum size in bytes of a Mapping that the package accepts from a device.
const maxMapping = 1 << 30

// ParseMapping parses the place of a queue.
func ParseMapping(b []byte) (m Mapping, err error) {
	if len(b) < MappingLen {
		return m, ErrShort
	}
	m = Mapping{le.Uint64(b), le.Uint32(b[8:])}
	if m.Size == 0 || m.Size > maxMapping || m.Offset >= 1<<62 {
		return m, fmt.Errorf("uverbs: a queue of %d bytes at %#x", m.Size, m.Offset)
	}
	return m, nil
}

// ParseAsyncEvent parses an asynchronous event.
func ParseAsyncEvent(b []byte) (userHandle uint64, e EventType, err error) {
	if len(b) < asyncEventLen {
		return 0, 0, ErrShort
	}
	return le.Uint64(b), EventType(le.Uint32(b[8:])), nil
}

// Put writes the entry to b, an entry of a send queue. list are the SGEs, at most as many as b has
// room for. The operation must not be a bind or an atomic Write. Put also writes the positions at
// which the kernel's driver begins: the front of the list, and of the peer's memory.
func (w *SendWR) Put(b []byte, list []SGE) {
	const peerAt, lenAt, leftAt, countAt = 152, 184, 188, 196
	clear(b)
	le.PutUint64(b, w.ID)
	le.PutUint32(b[12:], uint32(w.Op))
	le.PutUint32(b[16:], uint32(w.Flags))
	copy(b[20:], w.Immediate[:])
	le.PutUint64(b[24:], w.Addr)
	switch w.Op {
	case OpCmpSwap, OpFetchAdd:
		le.PutUint64(b[32:], w.Operand)
		le.PutUint64(b[40:], w.Swap)
		le.PutUint32(b[48:], w.RKey)
	default:
		le.PutUint32(b[32:], w.RKey)
	}
	le.PutUint64(b[peerAt:], w.Addr)
	n := putList(b[sendHeaderLen:], list)
	le.PutUint32(b[lenAt:], n)
	le.PutUint32(b[leftAt:], n)
	le.PutUint32(b[countAt:], uint32(len(list)))
}

// PutRecvWR writes an entry of a receive queue to b.
func PutRecvWR(b []byte, id uint64, list []SGE) {
	clear(b)
	le.PutUint64(b, id)
	n := putList(b[recvHeaderLen:], list)
	le.PutUint32(b[16:], n)
	le.PutUint32(b[20:], n)
	le.PutUint32(b[28:], uint32(len(list)))
}

// putList writes a list and returns the sum of its lengths.
func putList(b []byte, list []SGE) (n uint32) {
	for i, s := range list {
		s.Put(b[SGELen*i:])
		n += s.Len
	}
	return n
}

// Put writes s to b, which has SGELen bytes.
func (s SGE) Put(b []byte) {
	le.PutUint64(b, s.Addr)
	le.PutUint32(b[8:], s.Len)
	le.PutUint32(b[12:], s.LKey)
}
