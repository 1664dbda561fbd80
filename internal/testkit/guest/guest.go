// Package guest is the program's side of the device, for tests: verbs as in libibverbs and the rxe
// provider, with the same commands, answers and rings. It shares no code with the device, so that
// no mistake is made on both sides: it has the layouts of the kernel's headers, as numbers.
package guest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A Kernel is a program's interface to the device.
type Kernel interface {
	// Do sends a command. The lengths are those of the two answers, in bytes.
	Do(cmd uint32, in, driverIn []byte, outLen, driverOutLen int) (out, driverOut []byte, err error)
	// Map maps a part of the device's file.
	Map(offset uint64, size int) ([]byte, error)
	// Doorbell tells the device that work requests have been posted to the queue pair with this
	// handle.
	Doorbell(qp uint32) error
}

var le = binary.LittleEndian

// words returns 32-bit numbers as the input of a command. The input of a command with an answer
// begins with two of them, for the answer's address.
func words(w ...uint32) (b []byte) {
	for _, v := range w {
		b = le.AppendUint32(b, v)
	}
	return b
}

// A Context is an open device.
type Context struct {
	Kernel
	AsyncFD int
}

// Open gets a context from the device.
func Open(k Kernel) (*Context, error) {
	out, _, err := k.Do(0, words(0, 0), nil, 8, 0)
	if err != nil {
		return nil, fmt.Errorf("GET_CONTEXT: %w", err)
	}
	return &Context{k, int(le.Uint32(out))}, nil
}

// PD allocates a protection domain.
func (c *Context) PD() (uint32, error) {
	out, _, err := c.Do(3, words(0, 0), nil, 4, 0)
	if err != nil {
		return 0, fmt.Errorf("ALLOC_PD: %w", err)
	}
	return le.Uint32(out), nil
}

// A queue is a ring in mapped memory.
type queue struct {
	b           []byte
	shift, mask uint32
}

func (c *Context) queue(mi []byte) (*queue, error) {
	size := int(le.Uint32(mi[8:]))
	if size == 0 {
		return nil, nil
	}
	b, err := c.Map(le.Uint64(mi), size)
	if err != nil {
		return nil, err
	}
	return &queue{b, le.Uint32(b), le.Uint32(b[4:])}, nil
}

func (q *queue) index(at int) *uint32  { return (*uint32)(unsafe.Pointer(&q.b[at])) }
func (q *queue) entry(i uint32) []byte { return q.b[384+i<<q.shift:][:1<<q.shift] }
func (q *queue) Bytes() []byte         { return q.b }

// push appends an entry that fill writes.
func (q *queue) push(fill func(b []byte)) bool {
	p := atomic.LoadUint32(q.index(128)) & q.mask
	if (p+1)&q.mask == atomic.LoadUint32(q.index(256)) {
		return false
	}
	b := q.entry(p)
	clear(b)
	fill(b)
	atomic.StoreUint32(q.index(128), (p+1)&q.mask)
	return true
}

// A CQ is a completion queue.
type CQ struct {
	Handle uint32
	q      *queue
}

// Bytes returns the memory of the queue.
func (q *CQ) Bytes() []byte { return q.q.b }

// CQ creates a completion queue. channel is its channel's descriptor, or -1.
func (c *Context) CQ(n uint32, channel int, userHandle uint64) (*CQ, error) {
	in := le.AppendUint64(words(0, 0), userHandle)
	out, drv, err := c.Do(18, append(in, words(n, 0, uint32(channel), 0)...), nil, 8, 16)
	if err != nil {
		return nil, fmt.Errorf("CREATE_CQ: %w", err)
	}
	q, err := c.queue(drv)
	return &CQ{le.Uint32(out), q}, err
}

// Arm asks for an event.
func (c *Context) Arm(q *CQ, solicited uint32) error {
	_, _, err := c.Do(23, words(q.Handle, solicited), nil, 0, 0)
	return err
}

// Channel creates a completion channel and returns its descriptor.
func (c *Context) Channel() (int, error) {
	out, _, err := c.Do(17, words(0, 0), nil, 4, 0)
	if err != nil {
		return 0, err
	}
	return int(le.Uint32(out)), nil
}

// A WC is a completion.
type WC struct {
	ID                                uint64
	Status, Op, Len, Imm, QPN, Source uint32
	Flags                             uint32
	SL                                uint8
}

// Poll takes the oldest completion.
func (q *CQ) Poll() (w WC, ok bool) {
	r := q.q
	at := atomic.LoadUint32(r.index(256))
	if at == atomic.LoadUint32(r.index(128)) {
		return w, false
	}
	b := r.entry(at)
	w = WC{
		le.Uint64(b), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[20:]), binary.BigEndian.Uint32(b[24:]), le.Uint32(b[28:]),
		le.Uint32(b[32:]), le.Uint32(b[36:]), b[44],
	}
	atomic.StoreUint32(r.index(256), (at+1)&r.mask)
	return w, true
}

// An SRQ is a shared receive queue.
type SRQ struct {
	Handle uint32
	q      *queue
}

// SRQ creates a shared receive queue of n entries with one buffer each.
func (c *Context) SRQ(pd, n uint32, userHandle uint64) (*SRQ, error) {
	in := le.AppendUint64(words(0, 0), userHandle)
	out, drv, err := c.Do(32, append(in, words(pd, n, 1, 0)...), nil, 16, 24)
	if err != nil {
		return nil, fmt.Errorf("CREATE_SRQ: %w", err)
	}
	q, err := c.queue(drv)
	return &SRQ{le.Uint32(out), q}, err
}

// Limit asks for an event when fewer than n receives are left.
func (c *Context) Limit(s *SRQ, n uint32) error {
	_, _, err := c.Do(33, words(s.Handle, 2, 0, n), nil, 0, 0)
	return err
}

// Resize changes the number of entries of s. The device writes the place of the new ring to addr,
// the address of mapping, which has 16 bytes.
func (c *Context) Resize(s *SRQ, n uint32, mapping []byte, addr uint64) (err error) {
	if _, _, err := c.Do(33, words(s.Handle, 1, n, 0), le.AppendUint64(nil, addr), 0, 0); err != nil {
		return fmt.Errorf("MODIFY_SRQ: %w", err)
	}
	s.q, err = c.queue(mapping)
	return err
}

// PostRecv posts a receive.
func (s *SRQ) PostRecv(id uint64, list ...SGE) bool { return postRecv(s.q, id, list) }

// A QP is a queue pair.
type QP struct {
	Handle, Num uint32
	c           *Context
	SQ, RQ      *queue
}

// A QPConfig configures a new queue pair. SRQ is nil for one with its own receive queue.
type QPConfig struct {
	PD           uint32
	Send, Recv   *CQ
	SRQ          *SRQ
	Depth        uint32
	SGEs, Inline uint32
	Type         uint8 // 0 means RC
}

// QP creates a queue pair.
func (c *Context) QP(a QPConfig) (*QP, error) {
	if a.Type == 0 {
		a.Type = 2
	}
	var srq, shares uint32
	if a.SRQ != nil {
		srq, shares = a.SRQ.Handle, 1
	}
	in := le.AppendUint64(words(0, 0), 0x1234)
	in = append(in, words(a.PD, a.Send.Handle, a.Recv.Handle, srq, a.Depth, a.Depth, a.SGEs, a.SGEs, a.Inline, uint32(a.Type)<<8|shares<<16)...)
	out, drv, err := c.Do(24, in, nil, 32, 32)
	if err != nil {
		return nil, fmt.Errorf("CREATE_QP: %w", err)
	}
	q := &QP{Handle: le.Uint32(out), Num: le.Uint32(out[4:]), c: c}
	if q.RQ, err = c.queue(drv); err != nil {
		return nil, err
	}
	q.SQ, err = c.queue(drv[16:])
	return q, err
}

// Destroy destroys an object; cmd is 20 for a CQ, 27 for a QP, and 35 for an SRQ. It returns the
// number of events that the program must have acknowledged.
func (c *Context) Destroy(cmd, handle uint32) (events uint32, err error) {
	n := 4
	if cmd == 20 {
		n = 8
	}
	out, _, err := c.Do(cmd, words(0, 0, handle, 0), nil, n, 0)
	if err != nil {
		return 0, err
	}
	return le.Uint32(out), nil
}

// Free destroys an object whose command has no answer; cmd is 4 for a PD and 13 for an MR.
func (c *Context) Free(cmd, handle uint32) error {
	_, _, err := c.Do(cmd, words(handle), nil, 0, 0)
	return err
}

// States of a queue pair.
const (
	Reset = iota
	Init
	RTR
	RTS
	SQD
	SQE
	Err
)

// Modify changes the state of a queue pair. gid and qpn are those of the peer.
func (q *QP) Modify(state uint8, gid [16]byte, qpn uint32, change func(in []byte)) error {
	mask := map[uint8]uint32{Init: 0x39, RTR: 0x129181, RTS: 0x12e01}[state]
	in := make([]byte, 112)
	copy(in, gid[:])
	in[25], in[30], in[31] = 64, 1, 1
	le.PutUint32(in[64:], q.Handle)
	le.PutUint32(in[68:], mask|1)
	le.PutUint32(in[84:], qpn)
	le.PutUint32(in[88:], All)
	in[96], in[98], in[101], in[102], in[103], in[104], in[105], in[106], in[107] = state, 5, 1, 1, 12, 1, 14, 7, 7
	if change != nil {
		change(in)
	}
	_, _, err := q.c.Do(26, in, nil, 0, 0)
	return err
}

// Enable moves a new UD queue pair to RTS.
func (q *QP) Enable(key uint32) error {
	for state, mask := range []uint32{Init: 0x71, RTR: 1, RTS: 0x10001} {
		if mask == 0 {
			continue
		}
		in := make([]byte, 112)
		le.PutUint32(in[64:], q.Handle)
		le.PutUint32(in[68:], mask)
		le.PutUint32(in[72:], key)
		in[96], in[104] = uint8(state), 1
		if _, _, err := q.c.Do(26, in, nil, 0, 0); err != nil {
			return fmt.Errorf("to state %d: %w", state, err)
		}
	}
	return nil
}

// AH creates an address handle and returns its number.
func (c *Context) AH(pd uint32, gid [16]byte) (uint32, error) {
	in := append(words(0, 0, 0, 0, pd, 0), gid[:]...)
	in = append(in, words(0, 64<<8, 0, 1<<8|1<<16)...)
	_, drv, err := c.Do(5, in, nil, 4, 8)
	if err != nil {
		return 0, fmt.Errorf("CREATE_AH: %w", err)
	}
	return le.Uint32(drv), nil
}

// State returns the state of the queue pair.
func (q *QP) State() (uint8, error) {
	out, _, err := q.c.Do(25, words(0, 0, q.Handle, 0), nil, 128, 0)
	if err != nil {
		return 0, err
	}
	return out[108], nil
}

// Join moves a new queue pair to RTS, connected to the peer's queue pair.
func (q *QP) Join(gid [16]byte, qpn uint32) error {
	for _, s := range []uint8{Init, RTR, RTS} {
		if err := q.Modify(s, gid, qpn, nil); err != nil {
			return fmt.Errorf("to state %d: %w", s, err)
		}
	}
	return nil
}

// An SGE is a piece of local memory.
type SGE struct {
	Addr uint64
	Len  uint32
	Key  uint32
}

// Part returns n bytes of m from off on.
func (m MR) Part(off, n int) SGE { return SGE{m.Addr + uint64(off), uint32(n), cmp.Or(m.Local, m.Key)} }

// Operations and flags of a WR.
const (
	OpWrite = iota
	OpWriteImm
	OpSend
	OpSendImm
	OpRead
	OpCmpSwap
	OpFetchAdd
	OpLocalInv
	OpBindMW
	OpSendInv

	Fence     = 1
	Signaled  = 2
	Solicited = 4
	Inline    = 8
)

// A WR is a send work request.
type WR struct {
	ID            uint64
	Op, Flags     uint32
	Imm           uint32
	Remote        uint64
	Key           uint32
	Operand, Swap uint64
	List          []SGE
	Data          []byte // with Inline
	Bind          Bind   // of OpBindMW
	To            *To    // of a UD queue pair
}

// To is the destination of a datagram.
type To struct {
	QPN, QKey uint32
	AH        uint32 // number of the AH; 0 means GID
	GID       [16]byte
}

// A Bind binds a memory window to a part of an MR.
type Bind struct {
	MR       MR
	Off, Len int
	Old, Key uint32
	Access   uint32
}

// Post posts work requests and rings the doorbell. As libibverbs, it rings, too, if there is no
// room for all of them.
func (q *QP) Post(all ...WR) error {
	err := q.Push(all...)
	return cmp.Or(err, q.c.Doorbell(q.Handle))
}

// Push is Post without the doorbell.
func (q *QP) Push(all ...WR) error {
	for _, w := range all {
		if !q.SQ.push(func(b []byte) { w.put(b) }) {
			return syscall.ENOMEM
		}
	}
	return nil
}

func (w *WR) put(b []byte) {
	le.PutUint64(b, w.ID)
	le.PutUint32(b[12:], w.Op)
	le.PutUint32(b[16:], w.Flags)
	binary.BigEndian.PutUint32(b[20:], w.Imm)
	le.PutUint64(b[24:], w.Remote)
	if w.Op == OpCmpSwap || w.Op == OpFetchAdd {
		le.PutUint64(b[32:], w.Operand)
		le.PutUint64(b[40:], w.Swap)
		le.PutUint32(b[48:], w.Key)
	} else {
		le.PutUint32(b[32:], w.Key)
	}
	if w.To != nil {
		le.PutUint32(b[24:], w.To.QPN)
		le.PutUint32(b[28:], w.To.QKey)
		le.PutUint32(b[36:], w.To.AH)
		copy(b[64:], w.To.GID[:])
	}
	switch w.Op {
	case OpBindMW:
		le.PutUint64(b[24:], w.Bind.MR.Addr+uint64(w.Bind.Off))
		le.PutUint64(b[32:], uint64(w.Bind.Len))
		for i, v := range []uint32{w.Bind.MR.Key, w.Bind.Old, w.Bind.Key, w.Bind.Access} {
			le.PutUint32(b[40+4*i:], v)
		}
	case OpLocalInv, OpSendInv:
		le.PutUint32(b[20:], w.Key)
	}
	if w.Flags&Inline != 0 {
		le.PutUint32(b[184:], uint32(len(w.Data)))
		copy(b[208:], w.Data)
		return
	}
	var n uint32
	for i, s := range w.List {
		n += s.Len
		s.put(b[208+16*i:])
	}
	le.PutUint32(b[184:], n)
	le.PutUint32(b[196:], uint32(len(w.List)))
}

func (s SGE) put(b []byte) {
	le.PutUint64(b, s.Addr)
	le.PutUint32(b[8:], s.Len)
	le.PutUint32(b[12:], s.Key)
}

// PostRecv posts a receive. It makes no system call.
func (q *QP) PostRecv(id uint64, list ...SGE) bool { return postRecv(q.RQ, id, list) }

func postRecv(q *queue, id uint64, list []SGE) bool {
	return q.push(func(b []byte) {
		le.PutUint64(b, id)
		var n uint32
		for i, s := range list {
			n += s.Len
			s.put(b[40+16*i:])
		}
		le.PutUint32(b[16:], n)
		le.PutUint32(b[28:], uint32(len(list)))
	})
}
